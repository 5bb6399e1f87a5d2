package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool returns the path of prometheus or promtool, which hack/prometheus provides.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(cache, "podctl/prometheus", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("PODCTL_LIVE") == "required" {
			t.Fatalf("run hack/prometheus first: %v", err)
		}
		t.Skipf("run hack/prometheus first: %v", err)
	}
	return path
}

func TestPromtoolAcceptsTheRulesAndTheirTestsPass(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.Command(tool(t, "promtool"), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestEveryAlertHasARunbookAndATest(t *testing.T) {
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
