package e2e

import (
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// eachPrivate runs the test on a private runtime of each kind, all at once.
func eachPrivate(t *testing.T, test func(t *testing.T, p *place)) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, at(t, live.Runtime(t, kind, live.Private())))
		})
	}
}

// restart kills the runtime, waits until podctl has noticed, and starts it
// again over its state.
func (p *place) restart(proc *process) {
	p.t.Helper()
	p.rt.Kill(p.t)
	proc.prints("the runtime does not answer")
	p.rt.Start(p.t)
	proc.prints("the runtime answers again")
}

func TestRuntimeKilledWhileAPodRuns(t *testing.T) {
	t.Parallel()
	eachPrivate(t, func(t *testing.T, p *place) {
		proc := p.start(p.service("web"), "-")
		p.gets(1)
		proc.prints("c started")
		p.restart(proc)
		proc.signal(syscall.SIGTERM)
		if code := proc.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
		p.has("service", "up", "down", "end")
		if out, errw := proc.output(); strings.Count(out, "c started") != 1 || errw != "" {
			t.Errorf("it was restarted:\n%s%s", out, errw)
		}
	})
}
