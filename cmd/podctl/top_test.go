package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// TestTopOfAThousandPods: each has a row, and the runtime is asked no more often than
// for one.
func TestTopOfAThousandPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const pods = 1000
		for n := range pods {
			w.pod("default", fmt.Sprintf("p%04d", n)).Start("app", "sleep", "3600")
		}
		w.sim.ClearCalls()
		begin := time.Now()
		c := w.start(nil, "top", "-o", "json")
		c.ends(0, 10*time.Second)
		if took := time.Since(begin); took > 2*time.Second { // in virtual time
			t.Errorf("took %s", took)
		}
		var items []struct {
			CPU    struct{ Cores *float64 }
			Memory struct{ WorkingSetBytes *uint64 }
		}
		if err := json.Unmarshal([]byte(c.out.String()), &items); err != nil || len(items) != pods {
			t.Errorf("%d pods, %v", len(items), err)
		}
		for _, i := range items {
			if i.CPU.Cores == nil || math.Abs(*i.CPU.Cores-0.01) > 1e-4 || i.Memory.WorkingSetBytes == nil {
				t.Errorf("%+v", i)
				break
			}
		}
		if calls := w.sim.Calls("ListContainerStats", "ListPodSandboxStats", "PodSandboxStatus", "ContainerStatus"); len(calls) != 4 {
			t.Errorf("%d calls: %v", len(calls), calls)
		}
	})
}

func TestTopFollowsUntilItIsInterrupted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := w.pod("default", "web")
		web.Start("app", "sleep", "3600")
		c := w.start(nil, "top", "-w", "--no-headers")
		time.Sleep(2500 * time.Millisecond)
		w.pod("default", "late").Start("app", "sleep", "3600")
		time.Sleep(2 * time.Second)
		c.goesOn()
		web.Remove()
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(0, time.Second)
		before, after, found := strings.Cut(c.out.String(), "default/late")
		if !found || !strings.Contains(before, "default/web") {
			t.Fatal(c.out.String())
		}
		// A container that was started between the samples has no rate yet.
		if !strings.HasPrefix(strings.TrimSpace(after), "-") || !strings.Contains(after, "default/late  10m") {
			t.Error(c.out.String())
		}
		c.silent()
	})
}

// A runtime that stops answering ends the command with its error, not with zeros.
func TestTopOfARuntimeThatStopsAnswering(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("app", "sleep", "3600")
		defer w.sim.Inject("method=ListContainerStats hang")()
		c := w.start(nil, "top")
		c.ends(shell.ExitUnreachable, 20*time.Second)
		if c.out.String() != "" || !strings.Contains(c.errw.String(), "read statistics of containers") {
			t.Errorf("%s%s", c.out.String(), c.errw.String())
		}
	})
}

func TestTopIsInterruptedWithinASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("app", "sleep", "3600")
		defer w.sim.Inject("method=ListContainerStats hang")()
		c := w.start(nil, "top", "--interval", "1h")
		time.Sleep(time.Second)
		c.interrupt()
		c.ends(130, time.Second)
		c.silent()
	})
}
