package e2e

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
)

// killAt has podctl killed at the first call of a method: "during" it, or
// "after" the runtime has answered and before podctl has learned that. What it
// returns is to be given the process.
func (p *place) killAt(when, method string) chan<- *process {
	victim := make(chan *process, 1)
	var once sync.Once
	kill := func(c record.Call, wait bool) {
		if c.Method != method {
			return
		}
		once.Do(func() {
			proc := <-victim
			if err := proc.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				p.t.Error(err)
			}
			if wait {
				<-proc.done
			}
		})
	}
	if when == "during" {
		p.proxy.Watch(func(c record.Call) { kill(c, false) }, nil)
	} else {
		p.proxy.Watch(nil, func(c record.Call) { kill(c, true) })
	}
	return victim
}

// eachStep runs a test for each step, side by side on each runtime; a step is
// "during METHOD" or "after METHOD".
func eachStep(t *testing.T, steps []string, test func(t *testing.T, p *place, when, method string)) {
	each(t, func(t *testing.T, rt *live.Instance) {
		rt.Leftovers(t)
		for _, step := range steps {
			t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
				if step == "during RunPodSandbox" && strings.HasPrefix(rt.Kind, live.CRIO) {
					t.Skip("CRI-O may wait for minutes for a creation whose client is dead, also when it has ended")
				}
				t.Parallel()
				when, method, _ := strings.Cut(step, " ")
				test(t, beside(t, rt).proxied(), when, method)
			})
		}
	})
}

// podName is a name for the pod of a step: others run at the same time.
func podName(when, method string) string { return strings.ToLower(when + "-" + method) }

func TestJobRunsOnceWhereverPodctlIsKilled(t *testing.T) {
	eachStep(t, []string{
		"during RunPodSandbox", "after RunPodSandbox", "during CreateContainer", "after CreateContainer", "after StartContainer",
		"after StopPodSandbox", "after RemoveContainer", "after RemovePodSandbox",
	}, func(t *testing.T, p *place, when, method string) {
		name := podName(when, method)
		yaml := p.marked(name, "echo ran >> /mark/job", never)
		kill := p.killAt(when, method)
		first := p.start(yaml, "-")
		kill <- first
		if code := first.wait(); code != -1 {
			out, errw := first.output()
			t.Fatalf("podctl was not killed: exit %d\n%s%s", code, out, errw)
		}
		out, errw, code := p.run(yaml, "-o", "json", "-")
		if code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		if r := result(t, out, name); r.Phase != "Succeeded" || r.Restarts > restarts(method) {
			t.Errorf("result %+v\n%s", r, out)
		}
		p.has("job", "ran")
	})
}

// restarts is the highest restart count of a pod whose podctl was killed there:
// a container that was created and never started counts as a run, as the
// kubelet counts it.
func restarts(method string) int {
	if method == "CreateContainer" {
		return 1
	}
	return 0
}

func TestServiceContinuesOrStopsWhereverPodctlIsKilled(t *testing.T) {
	eachStep(t, []string{
		"after StartContainer", "after StopContainer", "after StopPodSandbox", "after RemoveContainer", "after RemovePodSandbox",
	}, func(t *testing.T, p *place, when, method string) {
		name := podName(when, method)
		yaml := p.service(name)
		kill := p.killAt(when, method)
		first := p.start(yaml, "-")
		kill <- first
		p.gets(1)
		life := []string{"up", "down", "end"}
		lives := slices.Concat(life, life)
		if method == "StartContainer" {
			lives = life // it goes on
		} else {
			first.signal(syscall.SIGTERM)
		}
		if code := first.wait(); code != -1 {
			t.Fatalf("podctl was not killed: exit %d", code)
		}
		p.endService(yaml, name, lives)
	})
}

func TestGracePeriodContinuesAfterPodctlIsKilled(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		yaml := p.marked("web", `cd /mark; trap "echo down >> service; until [ -e go ]; do sleep 0.1; done; echo end >> service; exit 0" TERM; echo up >> service; `+forever)
		first := p.start(yaml, "-")
		p.gets(1)
		first.signal(syscall.SIGTERM)
		p.gets(2) // it has its grace
		first.signal(syscall.SIGKILL)
		first.wait()
		p.mark("go")
		p.endService(yaml, "web", []string{"up", "down", "end", "up", "down", "end"})
	})
}

// service is a pod that leaves marks when it starts, when it gets SIGTERM, and when
// it exits, a moment later.
func (p *place) service(name string) string {
	return p.marked(name, `cd /mark; trap "echo down >> service; sleep 0.3; echo end >> service; exit 0" TERM; echo up >> service; `+forever)
}

// endService runs a service again, until it has been up as often as the marks
// say, and ends it.
func (p *place) endService(yaml, name string, marks []string) {
	p.t.Helper()
	again := p.start(yaml, "-o", "json", "-")
	again.prints(`"reason":"Ready"`)
	p.gets(len(marks) - 2)
	again.signal(syscall.SIGTERM)
	code := again.wait()
	out, errw := again.output()
	if code != 130 || errw != "" {
		p.t.Errorf("exit %d\n%s%s", code, out, errw)
	}
	if r := result(p.t, out, name); r.Restarts != 0 {
		p.t.Errorf("result %+v\n%s", r, out)
	}
	p.has("service", marks...)
}
