package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// A host port is taken by a pod of another living podctl, by one that run --keep left
// running, and by one that podctl did not create.
func TestHostPortInUseByAnyPod(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		port := freePort(t)
		ported := func(name string) string {
			return strings.Replace(p.marked(name, `echo up >> /mark/`+name+`; `+obedient, brief),
				"command:", fmt.Sprintf("ports: [{containerPort: 80, hostPort: %d}]\n    command:", port), 1)
		}
		refused := func(by string) {
			t.Helper()
			out, errw, code := p.run(ported("late"), "-")
			if want := fmt.Sprintf("host port in use: %s has port %d/TCP", by, port); code != 1 || !strings.Contains(out+errw, want) {
				t.Errorf("beside %s: exit %d, want %q\n%s%s", by, code, want, out, errw)
			}
		}
		first := p.start(ported("first"), "--keep", "-")
		first.prints("c started")
		refused("default/first")
		first.ends(syscall.SIGINT, exitInterrupted)
		refused("default/first")
		p.does("rm", "default/first")

		l := p.planter()
		foreign := l.make(bare.Spec{Name: "foreign", Unlabelled: true, HostPort: int32(port)})
		refused("default/foreign")
		if err := l.c.Stop(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		late := p.start(ported("late"), "-")
		late.prints("c started")
		late.ends(syscall.SIGINT, exitInterrupted)
		if err := l.c.Remove(t.Context(), foreign); err != nil {
			t.Error(err)
		}
		p.has("late", "up")
	})
}
