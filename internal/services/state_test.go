package services

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// host is what the processes of a test share.
type host struct {
	kernel  kernel
	state   string
	running map[types.UID]bool
}

// start returns a process of an instance, which kill ends as SIGKILL does: the kernel lets go of the port.
func (h *host) start(t *testing.T, instance string, own ...*v1.Pod) (m *Manager, b *backend, kill func()) {
	b = &backend{kernel: &h.kernel}
	m = NewManager(Options{
		Range: DefaultRange, Backend: b, Instance: instance, Socket: "/run/podctl/r/" + instance + ".sock", State: h.state, Log: discard, Warn: func(err error) { t.Error(err) },
		Peers:   func() (map[string]Process, error) { return nil, nil },
		Pods:    func() []*v1.Pod { return own },
		Running: func() map[types.UID]bool { return h.running },
		Settled: func() bool { return true },
	})
	ctx, cancel := context.WithCancel(t.Context())
	go m.Run(ctx)
	return m, b, func() { cancel(); synctest.Wait(); h.kernel.server = nil }
}

func withUID(p *v1.Pod) { p.UID = types.UID(p.Name) }

// TestAddressesOutliveAKilledProcess: the next process that serves keeps them from its start, until the pods have
// ended or are its own.
func TestAddressesOutliveAKilledProcess(t *testing.T) {
	db := readyPod("db-1", "db", "10.0.0.1", withUID)
	web := objectsOf(service("web", func(s *v1.Service) { s.Spec.ClusterIP = "10.96.1.2" }))
	both := []string{"db=10.96.1.1", "web=10.96.1.2"}
	for name, c := range map[string]struct {
		instance string
		running  map[types.UID]bool
		want     []string
	}{
		"pods run":                  {"run-2", map[types.UID]bool{"db-1": true}, both},
		"not listed yet":            {"run-2", nil, both},
		"pods have ended":           {"run-2", map[types.UID]bool{}, both[1:]},
		"restarted without it":      {"run-1", map[types.UID]bool{"db-1": true}, both},
		"ended before it restarted": {"run-1", map[types.UID]bool{}, both[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &host{state: filepath.Join(t.TempDir(), "services.json")}
				first, _, kill := h.start(t, "run-1", db)
				first.Set(t.Context(), "a", objectsOf(service("db")))
				time.Sleep(2 * period)
				kill()
				h.running = c.running
				second, b, kill := h.start(t, c.instance)
				second.Set(t.Context(), "a", web)
				if !slices.Equal(b.served, c.want) {
					t.Errorf("at once: served %v, want %v", b.served, c.want)
				}
				time.Sleep(2 * period)
				if !slices.Equal(b.served, c.want) {
					t.Errorf("served %v, want %v", b.served, c.want)
				}
				if s := second.View().Table[0]; s.Name == "db" && (len(s.Endpoints) != 1 || !s.Endpoints[0].Ready || s.Stale == "") {
					t.Errorf("%+v", s)
				}
				kill()
			})
		})
	}
}

// TestAdoptedPodsAreServedAsTheirOwnerSays: what the killed process said of its pods counts until this one has
// their addresses.
func TestAdoptedPodsAreServedAsTheirOwnerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{state: filepath.Join(t.TempDir(), "services.json"), running: map[types.UID]bool{"db-1": true}}
		first, _, kill := h.start(t, "agent", readyPod("db-1", "db", "10.0.0.1", withUID))
		first.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(2 * period)
		kill()
		adopted := readyPod("db-1", "db", "", withUID, unready)
		second, _, kill := h.start(t, "agent", adopted)
		second.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(2 * period)
		if s := second.View().Table[0]; len(s.Endpoints) != 1 || !s.Endpoints[0].Ready {
			t.Errorf("before its adoption: %+v", s)
		}
		adopted.Status.PodIPs = []v1.PodIP{{IP: "10.0.0.1"}}
		time.Sleep(2 * period)
		if s := second.View().Table[0]; len(s.Endpoints) != 1 || s.Endpoints[0].Ready || s.Stale != "" {
			t.Errorf("after its adoption: %+v", s)
		}
		kill()
	})
}

// TestNothingIsLeftOfServicesWithoutPods: with the last Service the file goes, too.
func TestNothingIsLeftOfServicesWithoutPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{state: filepath.Join(t.TempDir(), "services.json"), running: map[types.UID]bool{}}
		m, b, kill := h.start(t, "run-1")
		m.Set(t.Context(), "a", objectsOf(service("web")))
		time.Sleep(2 * period)
		if left, _ := filepath.Glob(h.state); len(left) != 1 {
			t.Fatal("no state while it serves")
		}
		if err := m.Close(false); err != nil || b.kept {
			t.Error(b.kept, err)
		}
		if left, _ := filepath.Glob(h.state); len(left) != 0 {
			t.Errorf("%v is left", left)
		}
		kill()
	})
}
