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
