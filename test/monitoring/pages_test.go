//go:build pages

package monitoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPagesEveryAlertHasARunbookAndATest(t *testing.T) {
	const runbooks = "../../docs/runbooks"
	tests := string(read(t, "rules_test.yaml"))
	left := map[string]bool{}
	pages, err := filepath.Glob(filepath.Join(runbooks, "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no runbooks: %v", err)
	}
	for _, page := range pages {
		if name := strings.TrimSuffix(filepath.Base(page), ".md"); name != "README" {
			left[name] = true
		}
	}
	for _, g := range readRules(t).Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, summary or description", r.Alert)
			}
			if want := "https://github.com/podctl/podctl/blob/main/docs/runbooks/" + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
				t.Errorf("%s has the runbook %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			text, err := os.ReadFile(filepath.Join(runbooks, r.Alert+".md"))
			for _, want := range []string{"# " + r.Alert + "\n", "\n## Meaning\n", "\n## Check\n", "\n## Act\n"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the runbook of %s lacks %q (%v)", r.Alert, want, err)
				}
			}
			if strings.Contains(string(text), "\nkubectl ") {
				t.Errorf("a command in the runbook of %s is not indented as one", r.Alert)
			}
			if fires := "alertname: " + r.Alert + "\n    exp_alerts:"; !strings.Contains(tests, fires) {
				t.Errorf("no test in rules_test.yaml sees %s fire", r.Alert)
			}
			delete(left, r.Alert)
		}
	}
	for name := range left {
		t.Errorf("docs/runbooks/%s.md is of no alert", name)
	}
}
