package services

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// kernel is the network namespace that backends share: one of them serves.
type kernel struct{ server *backend }

type backend struct {
	kernel *kernel
	err    error
	served []string
	kept   bool
	warned []string
}

func (b *backend) Start(context.Context) error {
	switch {
	case b.err != nil:
		return b.err
	case b.kernel.server != nil:
		return ErrServedElsewhere
	}
	b.kernel.server = b
	return nil
}

func (b *backend) Apply(_ context.Context, all []Service, _ []PodAddress) error {
	b.served = nil
	for _, s := range all {
		b.served = append(b.served, s.Name+"="+s.Address)
	}
	return nil
}

func (b *backend) Stop(keep bool) error {
	b.kernel.server, b.served, b.kept = nil, nil, keep
	return nil
}

var discard = slog.New(slog.DiscardHandler)

func manager(t *testing.T, b *backend, others func() map[string]Process) *Manager {
	return NewManager(Options{
		Range: DefaultRange, Backend: b, Pods: func() []*v1.Pod { return nil }, Log: discard, Socket: "/run/own.sock", State: filepath.Join(t.TempDir(), "state"),
		Running: func() map[types.UID]bool { return map[types.UID]bool{} }, Settled: func() bool { return true },
		Peers: func() (map[string]Process, error) { return others(), nil }, Warn: func(err error) { b.warned = append(b.warned, err.Error()) },
	})
}

// answering is a process that answers with a view.
func answering(view func() View) map[string]Process {
	return map[string]Process{"/run/p.sock": {Name: "p", Ask: func(context.Context) (View, error) { return view(), nil }}}
}

// TestOneProcessServesForAll: the other one takes over when it ends, and nothing is served without Services.
func TestOneProcessServesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &kernel{}
		b1, b2 := &backend{kernel: k}, &backend{kernel: k}
		var m1, m2 *Manager
		m1 = manager(t, b1, func() map[string]Process { return answering(func() View { return m2.View() }) })
		m2 = manager(t, b2, func() map[string]Process { return answering(func() View { return m1.View() }) })
		ctx, cancel := context.WithCancel(t.Context())
		ctx1, end1 := context.WithCancel(ctx)
		go m1.Run(ctx1)
		go m2.Run(ctx)
		without := func(s *v1.Service) { s.Spec.ClusterIP = "" }
		given := m1.Set(ctx, "a", objectsOf(service("web", without)))
		if m1.DNS() != DNSAddress || len(given.Services) != 1 {
			t.Errorf("DNS %q, objects %v before a pod starts", m1.DNS(), given.Services)
		}
		m2.Set(ctx, "a", objectsOf(service("db", without)))
		time.Sleep(2 * time.Second)
		if len(b1.served) != 2 || m2.DNS() != DNSAddress || len(b2.served) != 0 {
			t.Errorf("served %v and %v, want both by the first", b1.served, b2.served)
		}
		end1()
		synctest.Wait()
		_ = m1.Close(true)
		m1.Set(ctx, "a", nil)
		time.Sleep(2 * time.Second)
		if !b1.kept || !slices.Equal(b2.served, []string{"db=" + m2.View().Services[0].Spec.ClusterIP}) {
			t.Errorf("after the first: kept %v, served %v", b1.kept, b2.served)
		}
		m2.Set(ctx, "a", pod.NewObjects())
		time.Sleep(2 * time.Second)
		if k.server != nil || m2.DNS() != "" {
			t.Error("it serves no Services")
		}
		cancel()
	})
}

// TestUnservedServicesChangeNothing: pods start as without Services, and the reason is shown.
func TestUnservedServicesChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{kernel: &kernel{}, err: errors.New("nft is not installed")}
		m := manager(t, b, func() map[string]Process { return nil })
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		if o := m.Set(ctx, "a", objectsOf(service("web"))); len(o.Services) != 0 || m.DNS() != "" || m.View().Problem != "nft is not installed" {
			t.Errorf("objects %v, DNS %q, %+v", o.Services, m.DNS(), m.View())
		}
		if v := m.View(); len(v.Table) != 1 || v.Serving {
			t.Errorf("view %+v", v)
		}
		time.Sleep(2 * retryPeriod)
		if !slices.Equal(b.warned, []string{"nft is not installed"}) {
			t.Errorf("warnings %q, want one", b.warned)
		}
		b.err = nil
		time.Sleep(retryPeriod + period)
		if m.DNS() != DNSAddress {
			t.Error("it is not tried again")
		}
		_ = m.Close(false)
		cancel()
	})
}

// TestServerThatIsNotSeenIsSaid: another run directory's podctl, or another program, has the address.
func TestServerThatIsNotSeenIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := manager(t, &backend{kernel: &kernel{server: &backend{}}}, func() map[string]Process { return answering(func() View { return View{} }) })
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		m.Set(ctx, "a", objectsOf(service("web")))
		time.Sleep(2 * time.Second)
		if p := m.View().Problem; !strings.Contains(p, "run directory") || m.DNS() != "" {
			t.Errorf("problem %q", p)
		}
		cancel()
	})
}

// TestRangeWithPodsIsNotServed: its rules would reject what is sent to the pods.
func TestRangeWithPodsIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{kernel: &kernel{}}
		m := manager(t, b, func() map[string]Process { return nil })
		m.o.Pods = func() []*v1.Pod { return []*v1.Pod{readyPod("web-1", "web", "10.96.7.7")} }
		ctx, cancel := context.WithCancel(t.Context())
		go m.Run(ctx)
		m.Set(ctx, "a", objectsOf(service("web")))
		time.Sleep(2 * period)
		if p := m.View().Problem; !strings.HasPrefix(p, "the range 10.96.0.0/16 of Services has the address 10.96.7.7 of the pod default/web-1") || b.kernel.server != nil || b.kept || m.DNS() != "" {
			t.Errorf("problem %q, served %v", p, b.served)
		}
		cancel()
	})
}
