package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// Every example runs unchanged, with nothing on stderr: a job until it completes,
// with some output, a service until it is ready.
func TestExamplesRun(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	each(t, func(t *testing.T, rt *live.Instance) {
		rt.Leftovers(t)
		// They mostly wait, so several run at one time, whatever -parallel says.
		const atOnce = 6
		running := make(chan struct{}, atOnce)
		ended := make(chan struct{}, len(files))
		for _, file := range files {
			go func() {
				running <- struct{}{}
				defer func() { <-running; ended <- struct{}{} }()
				t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) { runExample(t, rt, file) })
			}()
		}
		for range files {
			<-ended
		}
	})
}

func runExample(t *testing.T, rt *live.Instance, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--logs", file}
	job := strings.Contains(string(text), "restartPolicy: Never") || strings.Contains(string(text), "restartPolicy: OnFailure")
	if !job {
		args = append([]string{"--wait=ready"}, args...)
	}
	out, errw, code := beside(t, rt).run("", args...)
	if code != 0 || errw != "" {
		t.Errorf("exit %d\n%s%s", code, out, errw)
	}
	if job && !strings.Contains(out, " | ") {
		t.Errorf("no container wrote anything\n%s", out)
	}
}
