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
	args := []string{"--wait=ready", "--logs", file}
	job := strings.Contains(string(text), "restartPolicy: Never") || strings.Contains(string(text), "restartPolicy: OnFailure")
	if job {
		args = []string{"--keep-logs", "--logs", file}
	}
	p := beside(t, rt)
	out, errw, code := p.run("", args...)
	if code != 0 || errw != "" {
		t.Errorf("exit %d\n%s%s", code, out, errw)
	}
	if !job {
		return
	}
	// A line that is missing was lost by podctl if its log file has it, else by the runtime.
	written := p.takeLogs()
	if printed := strings.Count(out, " | "); printed == 0 || printed != written {
		t.Errorf("%d lines were printed, the log files have %d\n%s", printed, written, out)
	}
}

// takeLogs removes the log files, and returns how many lines they had.
func (p *place) takeLogs() (lines int) {
	p.t.Helper()
	logs, err := filepath.Glob(p.path("logs") + "/*/*/*.log")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			p.t.Fatal(err)
		}
		lines += strings.Count(string(data), "\n")
	}
	pods, err := filepath.Glob(p.path("logs") + "/*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, pod := range pods {
		if err := os.RemoveAll(pod); err != nil {
			p.t.Fatal(err)
		}
	}
	return lines
}
