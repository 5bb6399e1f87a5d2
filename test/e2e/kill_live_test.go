package e2e

import (
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

// A job runs once although its podctl is killed: while its container is created, and
// once the runtime has stopped the sandbox. internal/node kills podctl at random calls,
// and TestAgentKilledAtEachCall an agent at every one.
func TestJobRunsOnceWhenPodctlIsKilled(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		rt.Leftovers(t)
		for name, step := range map[string]struct {
			when, method string
			restarts     int // a container that was created and never started counts as a run
		}{
			"creating": {"during", "CreateContainer", 1},
			"stopped":  {"after", "StopPodSandbox", 0},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := beside(t, rt).proxied()
				yaml := p.marked(name, "echo ran >> /mark/job", never)
				kill := p.killAt(step.when, step.method)
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
				if r := result(t, out, name); r.Phase != "Succeeded" || r.Restarts > step.restarts {
					t.Errorf("result %+v\n%s", r, out)
				}
				p.has("job", "ran")
			})
		}
	})
}

// service is a pod that leaves marks when it starts, when it gets SIGTERM, and when
// it exits, a moment later.
func (p *place) service(name string) string {
	return p.marked(name, `cd /mark; trap "echo down >> service; sleep 0.3; echo end >> service; exit 0" TERM; echo up >> service; `+forever)
}
