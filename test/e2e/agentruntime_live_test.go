package e2e

import (
	"sync"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live/record"
)

// The runtime is killed while containers start, run and terminate, and is started
// again.
func TestAgentSurvivesRuntimeRestarts(t *testing.T) {
	eachFault(t, func(t *testing.T, a *agentPlace) {
		a.proxied()
		names := []string{"w0", "w1", "w2"}
		var yaml string
		for _, name := range names {
			yaml += a.lone(name, "")
		}
		starting, held := a.holdUp("StartContainer", len(names))
		agent := a.agent("--drain")
		a.put("all.yaml", yaml)
		starting.Wait()
		a.rt.Kill(t)
		close(held)
		a.rt.Start(t)
		for _, name := range names {
			a.lived(name, "up")
		}
		agent.prints("all containers are ready")
		before := a.sandboxes()
		a.restart(agent)
		a.put("late.yaml", a.lone("late", ""))
		a.lived("late", "up")
		if after := a.sandboxes(); len(after) != 4 || before["w0"] != after["w0"] || before["w1"] != after["w1"] || before["w2"] != after["w2"] {
			t.Errorf("sandboxes were %v and are %v", before, after)
		}
		stopping, held := a.holdUp("StopContainer", len(names))
		a.remove("all.yaml")
		stopping.Wait()
		a.rt.Kill(t)
		close(held)
		a.rt.Start(t)
		a.holds("late")
		for _, name := range names {
			a.lived(name, "up", "down")
		}
		agent.ends(syscall.SIGTERM, 0)
		a.lived("late", "up", "down")
	})
}

// holdUp delays the first calls of a method until all of them have been made and
// proceed is closed.
func (p *place) holdUp(method string, calls int) (there *sync.WaitGroup, proceed chan struct{}) {
	there, proceed = &sync.WaitGroup{}, make(chan struct{})
	there.Add(calls)
	left := make(chan struct{}, calls)
	for range calls {
		left <- struct{}{}
	}
	p.proxy.Watch(func(c record.Call) {
		if c.Method != method {
			return
		}
		select {
		case <-left:
			there.Done()
			<-proceed
		default:
		}
	}, nil)
	return there, proceed
}
