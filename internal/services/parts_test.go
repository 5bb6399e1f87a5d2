package services

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// host is what the processes of a test share.
type host struct {
	kernel  kernel
	dir     string
	living  map[string]bool
	unseen  atomic.Bool // which processes live
	running map[types.UID]bool
}

func newHost(t *testing.T) *host {
	return &host{dir: filepath.Join(t.TempDir(), "services"), living: map[string]bool{}}
}

func (h *host) read() ([]Service, error) {
	return Read(h.dir, func() (map[string]bool, error) { return h.living, nil })
}

func (h *host) files() []string {
	files, _ := filepath.Glob(filepath.Join(h.dir, "*"))
	return files
}

// process is one of a host.
type process struct {
	*Manager
	*backend
	pods []*v1.Pod
	host *host
	end  context.CancelFunc
}

func (h *host) start(t *testing.T, id string, pods ...*v1.Pod) *process {
	p := &process{backend: &backend{kernel: &h.kernel}, pods: pods, host: h}
	p.Manager = NewManager(Options{
		Range: DefaultRange, Backend: p.backend, Process: Process{ID: id, Instance: strings.TrimRight(id, "'"), Locks: "/run/r"}, Dir: h.dir, Log: discard,
		Warn: func(err error) { p.warned = append(p.warned, err.Error()) },
		Living: func() (map[string]bool, error) {
			if h.unseen.Load() {
				return nil, errors.New("too many open files")
			}
			return h.living, nil
		},
		Pods:    func() []*v1.Pod { return p.pods },
		Running: func() map[types.UID]bool { return h.running },
	})
	h.living[id] = true
	p.resume(t)
	return p
}

func (p *process) resume(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p.end = cancel
	go func() {
		time.Sleep(period / 2) // so that it acts between the steps of a test
		p.Run(ctx)
	}()
}

// suspend stops the process as SIGSTOP does.
func (p *process) suspend() { p.end(); synctest.Wait() }

// kill ends the process as SIGKILL does: the kernel lets go of the port and of its lock.
func (p *process) kill() {
	p.suspend()
	delete(p.host.living, p.o.Process.ID)
	if p.host.kernel.server == p.backend {
		p.host.kernel.server = nil
	}
}

func withUID(p *v1.Pod) { p.UID = types.UID(p.Name) }

// web is a Service beside the Service db of the tests.
func web() *v1.Service { return service("web", func(s *v1.Service) { s.Spec.ClusterIP = "10.96.1.2" }) }

var both = []string{"db=10.96.1.1", "web=10.96.1.2"}

// TestSuspendedProcessKeepsItsServices: what it said last counts and is called old, and with its exit its Services go.
func TestSuspendedProcessKeepsItsServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		server := h.start(t, "web")
		server.Set(t.Context(), "a", objectsOf(web()))
		db := h.start(t, "db", readyPod("db-1", "db", "10.0.0.1", withUID))
		db.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(3 * period)
		if all, err := h.read(); !slices.Equal(server.served, both) || err != nil || all[0].Stale != "" {
			t.Fatalf("served %v, %+v, %v", server.served, all, err)
		}
		db.suspend()
		time.Sleep(time.Minute)
		if all, _ := h.read(); !slices.Equal(server.served, both) || len(all[0].Endpoints) != 1 || !strings.HasPrefix(all[0].Stale, `podctl "db" is silent`) {
			t.Errorf("suspended: served %v, %+v", server.served, all)
		}
		db.resume(t)
		time.Sleep(3 * period)
		if all, _ := h.read(); all[0].Stale != "" {
			t.Errorf("it goes on: %+v", all)
		}
		h.running = map[types.UID]bool{}
		db.kill()
		time.Sleep(2 * period)
		if !slices.Equal(server.served, both[1:]) || len(h.files()) != 1 {
			t.Errorf("after its exit: served %v, files %v", server.served, h.files())
		}
		server.suspend()
		time.Sleep(time.Minute)
		if all, _ := h.read(); !strings.HasPrefix(all[0].Stale, `podctl "web" is silent`) {
			t.Errorf("the server is suspended: %+v", all)
		}
	})
}

// TestAddressesOutliveAKilledProcess: the next process that serves keeps them from its start, until the pods have
// ended or are its own.
func TestAddressesOutliveAKilledProcess(t *testing.T) {
	for name, c := range map[string]struct {
		id      string
		running map[types.UID]bool
		want    []string
	}{
		"pods run":                  {"run-2", map[types.UID]bool{"db-1": true}, both},
		"not listed yet":            {"run-2", nil, both},
		"pods have ended":           {"run-2", map[types.UID]bool{}, both[1:]},
		"restarted without it":      {"run-1'", map[types.UID]bool{"db-1": true}, both},
		"ended before it restarted": {"run-1'", map[types.UID]bool{}, both[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				first := h.start(t, "run-1", readyPod("db-1", "db", "10.0.0.1", withUID))
				first.Set(t.Context(), "a", objectsOf(service("db")))
				time.Sleep(2 * period)
				first.kill()
				h.running = c.running
				second := h.start(t, c.id)
				second.Set(t.Context(), "a", objectsOf(web()))
				if !slices.Equal(second.served, c.want) {
					t.Errorf("at once: served %v, want %v", second.served, c.want)
				}
				time.Sleep(2 * period)
				if !slices.Equal(second.served, c.want) {
					t.Errorf("served %v, want %v", second.served, c.want)
				}
				if s := second.table[0]; s.Name == "db" && (len(s.Endpoints) != 1 || !s.Endpoints[0].Ready || s.Stale == "") {
					t.Errorf("%+v", s)
				}
				second.suspend()
			})
		})
	}
}

// TestAdoptedPodsAreServedAsTheirOwnerSays: what the killed process said of its pods counts until this one has
// their addresses.
func TestAdoptedPodsAreServedAsTheirOwnerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.running = map[types.UID]bool{"db-1": true}
		first := h.start(t, "agent", readyPod("db-1", "db", "10.0.0.1", withUID))
		first.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(2 * period)
		first.kill()
		adopted := readyPod("db-1", "db", "", withUID, unready)
		second := h.start(t, "agent'", adopted)
		second.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(2 * period)
		if s := second.table[0]; len(s.Endpoints) != 1 || !s.Endpoints[0].Ready {
			t.Errorf("before its adoption: %+v", s)
		}
		adopted.Status.PodIPs = []v1.PodIP{{IP: "10.0.0.1"}}
		time.Sleep(2 * period)
		if s := second.table[0]; len(s.Endpoints) != 1 || s.Endpoints[0].Ready || s.Stale != "" {
			t.Errorf("after its adoption: %+v", s)
		}
		second.suspend()
	})
}

// TestNothingIsLeftOfServicesWithoutPods: nor of processes that have none themselves, of which each sees the other's part.
func TestNothingIsLeftOfServicesWithoutPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		server, other, third := h.start(t, "run-1"), h.start(t, "run-2"), h.start(t, "run-3")
		server.Set(t.Context(), "a", objectsOf(service("web")))
		time.Sleep(3 * period)
		if len(h.files()) != 3 {
			t.Fatalf("%v while it serves", h.files())
		}
		server.suspend()
		if err := server.Close(false); err != nil || server.kept {
			t.Error(server.kept, err)
		}
		server.kill()
		time.Sleep(2 * period)
		if _, err := os.Stat(h.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v is left: %v", h.dir, h.files())
		}
		other.suspend()
		third.suspend()
	})
}

// TestWhatCannotBeSeenIsAsItWas: neither processes that are not seen to live, nor a file that cannot be read, are gone.
func TestWhatCannotBeSeenIsAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		server := h.start(t, "web")
		server.Set(t.Context(), "a", objectsOf(web()))
		db := h.start(t, "db")
		db.Set(t.Context(), "a", objectsOf(service("db")))
		time.Sleep(3 * period)
		db.suspend()
		h.unseen.Store(true)
		time.Sleep(2 * period)
		if !slices.Equal(server.served, both) {
			t.Errorf("locks cannot be read: served %v", server.served)
		}
		h.unseen.Store(false)
		if err := os.WriteFile(filepath.Join(h.dir, "db.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * period)
		if !slices.Equal(server.served, both) {
			t.Errorf("its part cannot be read: served %v", server.served)
		}
		server.suspend()
	})
}

// TestPartThatCouldNotBeWrittenIsWrittenLater: the old one is not taken for the new.
func TestPartThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		server := h.start(t, "web")
		server.Set(t.Context(), "a", objectsOf(web()))
		time.Sleep(2 * period)
		file := filepath.Join(h.dir, "web.json")
		old, err := os.ReadFile(file)
		err = errors.Join(err, os.Remove(file), os.Mkdir(file, 0o700)) // which no file replaces
		server.Set(t.Context(), "b", objectsOf(service("db")))
		time.Sleep(2 * period)
		if err = errors.Join(err, os.Remove(file), os.WriteFile(file, old, 0o600)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * period)
		if all, err := h.read(); len(all) != 2 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		server.suspend()
	})
}

// TestPartThatCannotBeReadHidesNoOther: the others are served.
func TestPartThatCannotBeReadHidesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		if err := os.MkdirAll(h.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"x.json": "{", ".y.json-123": "", "z.json": `{"services":[null],"pods":[null],"slices":[null]}`} {
			if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		h.living[""] = true
		server := h.start(t, "web")
		server.Set(t.Context(), "a", objectsOf(web()))
		time.Sleep(2 * period)
		if all, err := h.read(); len(all) != 1 || !strings.Contains(err.Error(), "x.json") || !slices.Equal(server.served, both[1:]) {
			t.Errorf("%+v, %v, served %v", all, err, server.served)
		}
		server.suspend()
	})
}
