package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
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

func TestRuntimeKilledWhileContainersStart(t *testing.T) {
	t.Parallel()
	eachPrivate(t, func(t *testing.T, p *place) {
		p.proxied()
		// Each has its sandbox: a runtime that is killed while it makes one may
		// leave the shim behind, which is not podctl's doing.
		const pods = 4
		var all sync.WaitGroup
		var first atomic.Int32
		all.Add(pods)
		p.proxy.Watch(func(c record.Call) {
			if c.Method == "StartContainer" && first.Add(1) <= pods {
				all.Done()
				all.Wait()
			}
		}, nil)
		var yaml string
		for n := range pods {
			yaml += p.marked(fmt.Sprintf("web-%d", n), fmt.Sprintf("trap exit TERM; echo up >> /mark/web-%d; "+forever, n))
		}
		proc := p.start(yaml, "-o", "json", "--wait=ready", "-")
		all.Wait()
		p.rt.Kill(t)
		proc.prints("RuntimeDown")
		p.rt.Start(t)
		code := proc.wait()
		out, errw := proc.output()
		if code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		for n := range pods {
			p.has(fmt.Sprintf("web-%d", n), "up")
		}
	})
}

func TestRuntimeKilledWhileAPodTerminates(t *testing.T) {
	t.Parallel()
	eachPrivate(t, func(t *testing.T, p *place) {
		yaml := p.marked("web", `cd /mark; trap "trap : TERM; echo down >> service; while ! test -e go; do sleep 0.1; done; echo end >> service; exit 0" TERM
			echo up >> service; `+forever)
		proc := p.start(yaml, "-")
		p.gets(1)
		proc.signal(syscall.SIGTERM)
		p.gets(2)
		p.restart(proc)
		if err := os.WriteFile(filepath.Join(p.path("mark"), "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if code := proc.wait(); code != 130 {
			t.Errorf("exit %d", code)
		}
		p.has("service", "up", "down", "end")
	})
}
