package services

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// kernel is the network namespace that backends share: one of them serves.
type kernel struct {
	mu     sync.Mutex
	server *backend
}

type backend struct {
	kernel *kernel
	err    error
	served []string
	// empty counts Services that were served without endpoints.
	empty  int
	kept   bool
	warned []string
}

func (b *backend) Start(context.Context) error {
	b.kernel.mu.Lock()
	defer b.kernel.mu.Unlock()
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
	b.kernel.mu.Lock()
	defer b.kernel.mu.Unlock()
	b.served = nil
	for _, s := range all {
		if b.served = append(b.served, s.Name+"="+s.Address); len(s.Endpoints) == 0 {
			b.empty++
		}
	}
	return nil
}

func (b *backend) serves() []string {
	b.kernel.mu.Lock()
	defer b.kernel.mu.Unlock()
	return slices.Clone(b.served)
}

func (b *backend) Stop(keep bool) error {
	b.kernel.mu.Lock()
	defer b.kernel.mu.Unlock()
	b.kernel.server, b.served, b.kept = nil, nil, keep
	return nil
}

var discard = slog.New(slog.DiscardHandler)

// TestOneProcessServesForAll: the other one takes over when it ends, and nothing is served without Services.
func TestOneProcessServesForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		first, second := h.start(t, "1"), h.start(t, "2")
		without := func(s *v1.Service) { s.Spec.ClusterIP = "" }
		given := first.Set(t.Context(), "a", objectsOf(service("web", without)))
		if first.DNS() != DNSAddress || len(given.Services) != 1 {
			t.Errorf("DNS %q, objects %v before a pod starts", first.DNS(), given.Services)
		}
		given = second.Set(t.Context(), "a", objectsOf(service("db", without)))
		pass(3 * period)
		if len(first.serves()) != 2 || second.DNS() != DNSAddress || len(second.serves()) != 0 {
			t.Errorf("served %v and %v, want both by the first", first.serves(), second.serves())
		}
		first.suspend()
		_ = first.Close(true)
		first.kill()
		pass(2 * period)
		db := given.Services[types.NamespacedName{Namespace: "default", Name: "db"}]
		if !first.kept || !slices.Equal(second.serves(), []string{"db=" + db.Spec.ClusterIP}) {
			t.Errorf("after the first: kept %v, served %v", first.kept, second.serves())
		}
		second.Set(t.Context(), "a", pod.NewObjects())
		pass(2 * period)
		if h.kernel.server != nil || second.DNS() != "" {
			t.Error("it serves no Services")
		}
		second.suspend()
	})
}

// TestTakeOverServesPodsAtOnce: no Service is without its endpoints while another process takes over.
func TestTakeOverServesPodsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		first := h.start(t, "1")
		first.Set(t.Context(), "a", objectsOf(service("web")))
		pass(2 * period)
		second := h.start(t, "2", readyPod("db-1", "db", "10.0.0.1", withUID))
		second.Set(t.Context(), "a", objectsOf(service("db")))
		pass(2 * period)
		first.kill()
		pass(2 * period)
		if !slices.Equal(second.serves(), both[:1]) || second.empty > 0 {
			t.Errorf("served %v, %d times without endpoints", second.serves(), second.empty)
		}
		second.suspend()
	})
}

// TestUnservedServicesChangeNothing: pods start as without Services, and the reason is shown.
func TestUnservedServicesChangeNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		p := h.start(t, "1")
		p.err = errors.New("nft is not installed")
		if o := p.Set(t.Context(), "a", objectsOf(service("web"))); len(o.Services) != 0 || p.DNS() != "" {
			t.Errorf("objects %v, DNS %q", o.Services, p.DNS())
		}
		pass(2 * retryPeriod)
		if all, err := h.read(); err != nil || len(all) != 1 || all[0].Problem != "nft is not installed" {
			t.Errorf("%+v, %v", all, err)
		}
		if !slices.Equal(p.warned, []string{"nft is not installed"}) {
			t.Errorf("warnings %q, want one", p.warned)
		}
		h.change(func() { p.err = nil })
		pass(retryPeriod + period)
		if p.DNS() != DNSAddress {
			t.Error("it is not tried again")
		}
		_ = p.Close(false)
		p.suspend()
	})
}

// TestServerThatIsNotSeenIsSaid: another run directory's podctl, or another program, has the address.
func TestServerThatIsNotSeenIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.kernel.server = &backend{}
		p := h.start(t, "1")
		p.Set(t.Context(), "a", objectsOf(service("web")))
		pass(silence)
		if all, _ := h.read(); len(all) != 1 || all[0].Problem != "" {
			t.Errorf("before it had the time to say so: %+v", all)
		}
		pass(2 * period)
		if all, _ := h.read(); len(all) != 1 || !strings.Contains(all[0].Problem, "run directory") || p.DNS() != "" {
			t.Errorf("%+v", all)
		}
		p.suspend()
	})
}

// TestRangeWithPodsIsNotServed: its rules would reject what is sent to the pods.
func TestRangeWithPodsIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		p := h.start(t, "1", readyPod("web-1", "web", "10.96.7.7"))
		p.Set(t.Context(), "a", objectsOf(service("web")))
		pass(2 * period)
		if all, _ := h.read(); len(all) != 1 || !strings.HasPrefix(all[0].Problem, "the range 10.96.0.0/16 of Services has the address 10.96.7.7 of the pod default/web-1") || h.kernel.server != nil || p.kept || p.DNS() != "" {
			t.Errorf("%+v, served %v", all, p.serves())
		}
		p.suspend()
	})
}

// TestServedServiceKeepsAddressAndNodePort: one that asks for them later is not served, nor after a restart, though its
// name comes first.
func TestServedServiceKeepsAddressAndNodePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		nodePort := func(s *v1.Service) {
			s.Spec.Type, s.Spec.ClusterIP = v1.ServiceTypeNodePort, ""
		}
		first := h.start(t, "1", readyPod("db-1", "db", "10.0.0.1", withUID))
		given := first.Set(t.Context(), "a", objectsOf(service("db", nodePort)))
		pass(2 * period)
		db := given.Services[types.NamespacedName{Namespace: "default", Name: "db"}]
		both := func() *pod.Objects {
			return objectsOf(service("db", nodePort),
				service("a", func(s *v1.Service) { s.Spec.ClusterIP = db.Spec.ClusterIP }),
				service("b", nodePort, func(s *v1.Service) { s.Spec.Ports[0].NodePort = db.Spec.Ports[0].NodePort }))
		}
		check := func(when string) {
			t.Helper()
			all, err := h.read()
			if err != nil || len(all) != 3 || !strings.HasPrefix(all[0].Problem, "the address ") || !strings.HasPrefix(all[1].Problem, "the node port ") ||
				all[2].Problem != "" || all[2].Address != db.Spec.ClusterIP || all[2].Ports[0].NodePort != db.Spec.Ports[0].NodePort {
				t.Errorf("%s: %+v, %v", when, all, err)
			}
		}
		first.Set(t.Context(), "a", both())
		pass(2 * period)
		check("later")
		changed := both()
		changed.Services[types.NamespacedName{Namespace: "default", Name: "db"}].Spec.Ports[0].Name = "changed"
		first.Set(t.Context(), "a", changed)
		pass(2 * period)
		check("after a change")
		first.kill()
		second := h.start(t, "1'", readyPod("db-1", "db", "10.0.0.1", withUID))
		second.Set(t.Context(), "a", both())
		pass(2 * period)
		check("after a restart")
		second.suspend()
	})
}

// TestPodOfAnotherProcessInTheRangeIsLeftOut: another runtime may say anything of its pods.
func TestPodOfAnotherProcessInTheRangeIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		var log strings.Builder
		server := h.start(t, "web", readyPod("web-1", "web", "10.0.0.1"))
		server.o.Log = slog.New(slog.NewTextHandler(&log, nil))
		server.Set(t.Context(), "a", objectsOf(service("web")))
		pass(2 * period)
		other := h.start(t, "other", readyPod("web-2", "web", "10.96.7.7"), readyPod("web-3", "web", "10.0.0.3"))
		pass(4 * period)
		all, err := h.read()
		if err != nil || len(all) != 1 || all[0].Problem != "" || len(all[0].Endpoints) != 2 || !slices.Equal(server.serves(), []string{"web=10.96.1.1"}) {
			t.Errorf("%+v, %v, served %v", all, err, server.serves())
		}
		other.suspend()
		server.suspend()
		if strings.Count(log.String(), "10.96.7.7 of default/web-2") != 1 {
			t.Errorf("log %q, want one warning", log.String())
		}
	})
}
