//go:build pages

package monitoring

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestPagesEveryAlertHasARunbookAndATest(t *testing.T) {
	tests := string(read(t, "rules_test.yaml"))
	text, err := os.ReadFile("../../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	runbooks := map[string]string{}
	for _, section := range regexp.MustCompile(`(?m)^## `).Split(string(text), -1)[1:] {
		name, body, _ := strings.Cut(section, "\n")
		runbooks[name] = body
	}
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, summary or description", r.Alert)
			}
			if want := "https://github.com/podctl/podctl/blob/main/docs/runbooks.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s has the runbook %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			for _, want := range []string{"\n* **Meaning**: ", "\n* **Check**: ", "\n* **Act**: "} {
				if !strings.Contains(runbooks[r.Alert], want) {
					t.Errorf("the runbook of %s lacks %q", r.Alert, want)
				}
			}
			if fires := "alertname: " + r.Alert + "\n    exp_alerts:"; !strings.Contains(tests, fires) {
				t.Errorf("no test in rules_test.yaml sees %s fire", r.Alert)
			}
			delete(runbooks, r.Alert)
		}
	}
	for name := range runbooks {
		t.Errorf("docs/runbooks.md has a section %s, which is no alert", name)
	}
}
