package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Among a thousand pods each command finds the one that is meant, with few calls.
func TestLookingIntoOneOfAThousandPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for n := range 1000 {
			w.pod("default", fmt.Sprintf("p%04d", n)).Start("app", "sleep", "3600")
		}
		for _, c := range []struct {
			args  string
			want  string // in what it prints
			calls int    // at most
		}{
			{"pods --no-headers", "default/p0999", 4},
			{"pods -o json p0500", `"name": "p0500"`, 6},
			{"describe p0500", "default/p0500", 10},
			{"inspect p0500 -o jsonpath={.sandboxes[0].status.metadata.name}", "p0500", 6},
			{"exec --timeout=1m p0500 -- true", "", 4},
			{"wait p0500 --for=condition=Ready", "default/p0500: condition=Ready", 6},
			{"top p0500 --no-headers", "default/p0500", 8},
			{"__complete --timeout=10s -- logs p099", "p0999\trunning", 4},
		} {
			synctest.Wait() // the stream of events of the command before has ended
			w.sim.ClearCalls()
			p := w.start(nil, strings.Fields(c.args)...)
			p.ends(0, 10*time.Second)
			p.printed(c.want)
			if calls := w.sim.Calls(); len(calls) > c.calls {
				t.Errorf("%s: %d calls: %v", c.args, len(calls), calls)
			}
		}
		p := w.start(nil, "logs", "p05")
		p.ends(1, 10*time.Second)
		if said := p.errw.String(); !strings.Contains(said, "pod p05 not found") || len(said) > 1000 {
			t.Errorf("stderr %q", said)
		}
	})
}
