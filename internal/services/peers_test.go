package services

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
)

// suspended is a process of one Service with a ready pod, which answers while it is not suspended.
type suspended struct{ stopped atomic.Bool }

func (p *suspended) process(name string) Process {
	return Process{Name: name, Ask: func(ctx context.Context) (View, error) {
		if p.stopped.Load() {
			<-ctx.Done()
			return View{}, ctx.Err()
		}
		return View{Input: Input{Services: []*v1.Service{service(name)}, Pods: []*v1.Pod{readyPod(name+"-1", name, "10.0.0.1")}}}, nil
	}}
}

// TestSuspendedProcessKeepsItsServices: what it said last counts and is called old, it delays no one, and with
// its exit its Services go.
func TestSuspendedProcessKeepsItsServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := &backend{kernel: &kernel{}}, &suspended{}
		living := map[string]Process{"/run/db.sock": p.process("db")}
		m := manager(t, b, func() map[string]Process { return living })
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		m.Set(ctx, "a", objectsOf(service("web", func(s *v1.Service) { s.Spec.ClusterIP = "10.96.1.2" })))
		time.Sleep(2 * period)
		both := []string{"db=10.96.1.1", "web=10.96.1.2"}
		if !slices.Equal(b.served, both) || m.View().Table[0].Stale != "" {
			t.Fatalf("served %v, %+v", b.served, m.View().Table)
		}
		p.stopped.Store(true)
		time.Sleep(time.Minute)
		if db := m.View().Table[0]; !slices.Equal(b.served, both) || len(db.Endpoints) != 1 || !strings.HasPrefix(db.Stale, `podctl "db" does not answer`) {
			t.Errorf("suspended: served %v, %+v", b.served, db)
		}
		begin := time.Now()
		m.update(ctx)
		if d := time.Since(begin); d != 0 {
			t.Errorf("an update waits %v for a process that does not answer", d)
		}
		p.stopped.Store(false)
		time.Sleep(askTimeout + 2*period)
		if db := m.View().Table[0]; db.Stale != "" {
			t.Errorf("it answers again: %+v", db)
		}
		living = nil
		time.Sleep(2 * period)
		if !slices.Equal(b.served, both[1:]) {
			t.Errorf("after its exit: served %v", b.served)
		}
		cancel()
	})
}

// TestServerThatDoesNotAnswerMayServe: nothing is claimed about who has bound the port.
func TestServerThatDoesNotAnswerMayServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &suspended{}
		p.stopped.Store(true)
		m := manager(t, &backend{kernel: &kernel{server: &backend{}}}, func() map[string]Process { return map[string]Process{"x": p.process("db")} })
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		m.Set(ctx, "a", objectsOf(service("web")))
		time.Sleep(askTimeout - period)
		if v := m.View(); v.Problem != "" {
			t.Errorf("before it had the time to answer: %q", v.Problem)
		}
		time.Sleep(3 * period)
		if v := m.View(); !strings.Contains(v.Problem, `perhaps by podctl "db", which does not answer`) || !slices.Equal(v.Unanswered, []string{"db"}) {
			t.Errorf("problem %q, not heard %v", v.Problem, v.Unanswered)
		}
		cancel()
	})
}
