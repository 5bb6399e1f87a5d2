package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// Every example runs as it is: a job to its end, a service until it is ready.
func TestExamplesRun(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	each(t, func(t *testing.T, rt *live.Instance) {
		rt.Leftovers(t)
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				t.Parallel()
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				args := []string{file}
				if !strings.Contains(string(text), "restartPolicy: Never") && !strings.Contains(string(text), "restartPolicy: OnFailure") {
					args = append([]string{"--wait=ready"}, args...)
				}
				if out, errw, code := beside(t, rt).run("", args...); code != 0 || errw != "" {
					t.Errorf("exit %d\n%s%s", code, out, errw)
				}
			})
		}
	})
}
