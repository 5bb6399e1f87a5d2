package services

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// host is what the processes of a test share.
type host struct {
	kernel  kernel // its mutex guards the rest, too
	dir     string
	living  map[string]bool
	unseen  bool // which processes live
	running map[types.UID]bool
}

func newHost(t *testing.T) *host {
	return &host{dir: filepath.Join(t.TempDir(), "services"), living: map[string]bool{}}
}

// change changes what processes read.
func (h *host) change(f func()) {
	h.kernel.mu.Lock()
	defer h.kernel.mu.Unlock()
	f()
}

// pass lets processes act for a while.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (h *host) seeLiving() (living map[string]bool, err error) {
	h.change(func() {
		if living = maps.Clone(h.living); h.unseen {
			err = errors.New("too many open files")
		}
	})
	return living, err
}

func (h *host) read() ([]Service, error) { return Read(h.dir, h.seeLiving) }

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
		Warn:    func(err error) { p.warned = append(p.warned, err.Error()) },
		Living:  h.seeLiving,
		Pods:    func() (pods []*v1.Pod) { h.change(func() { pods = p.pods }); return pods },
		Running: func() (running map[types.UID]bool) { h.change(func() { running = h.running }); return running },
	})
	h.change(func() { h.living[id] = true })
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
	p.host.change(func() {
		delete(p.host.living, p.o.Process.ID)
		if p.host.kernel.server == p.backend {
			p.host.kernel.server = nil
		}
	})
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
		pass(3 * period)
		if all, err := h.read(); !slices.Equal(server.serves(), both) || err != nil || all[0].Stale != "" {
			t.Fatalf("served %v, %+v, %v", server.serves(), all, err)
		}
		db.suspend()
		pass(time.Minute)
		if all, _ := h.read(); !slices.Equal(server.serves(), both) || len(all[0].Endpoints) != 1 || !strings.HasPrefix(all[0].Stale, `podctl "db" is silent`) {
			t.Errorf("suspended: served %v, %+v", server.serves(), all)
		}
		db.resume(t)
		pass(3 * period)
		if all, _ := h.read(); all[0].Stale != "" {
			t.Errorf("it goes on: %+v", all)
		}
		h.change(func() { h.running = map[types.UID]bool{} })
		db.kill()
		pass(2 * period)
		if !slices.Equal(server.serves(), both[1:]) || len(h.files()) != 1 {
			t.Errorf("after its exit: served %v, files %v", server.serves(), h.files())
		}
		server.suspend()
		pass(time.Minute)
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
				pass(2 * period)
				first.kill()
				h.change(func() { h.running = c.running })
				second := h.start(t, c.id)
				second.Set(t.Context(), "a", objectsOf(web()))
				if !slices.Equal(second.serves(), c.want) {
					t.Errorf("at once: served %v, want %v", second.serves(), c.want)
				}
				pass(2 * period)
				if !slices.Equal(second.serves(), c.want) {
					t.Errorf("served %v, want %v", second.serves(), c.want)
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
		pass(2 * period)
		first.kill()
		second := h.start(t, "agent'", readyPod("db-1", "db", "", withUID, unready))
		second.Set(t.Context(), "a", objectsOf(service("db")))
		pass(2 * period)
		if s := second.table[0]; len(s.Endpoints) != 1 || !s.Endpoints[0].Ready {
			t.Errorf("before its adoption: %+v", s)
		}
		h.change(func() { second.pods = []*v1.Pod{readyPod("db-1", "db", "10.0.0.1", withUID, unready)} })
		pass(2 * period)
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
		pass(3 * period)
		if len(h.files()) != 3 {
			t.Fatalf("%v while it serves", h.files())
		}
		server.suspend()
		if err := server.Close(false); err != nil || server.kept {
			t.Error(server.kept, err)
		}
		server.kill()
		pass(2 * period)
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
		pass(3 * period)
		db.suspend()
		h.change(func() { h.unseen = true })
		pass(2 * period)
		if !slices.Equal(server.serves(), both) {
			t.Errorf("locks cannot be read: served %v", server.serves())
		}
		h.change(func() { h.unseen = false })
		if err := os.WriteFile(filepath.Join(h.dir, "db.json"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		pass(2 * period)
		if !slices.Equal(server.serves(), both) {
			t.Errorf("its part cannot be read: served %v", server.serves())
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
		pass(2 * period)
		file := filepath.Join(h.dir, "web.json")
		old, err := os.ReadFile(file)
		err = errors.Join(err, os.Remove(file), os.Mkdir(file, 0o700)) // which no file replaces
		server.Set(t.Context(), "b", objectsOf(service("db")))
		pass(2 * period)
		if err = errors.Join(err, os.Remove(file), os.WriteFile(file, old, 0o600)); err != nil {
			t.Fatal(err)
		}
		pass(2 * period)
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
		pass(2 * period)
		if all, err := h.read(); len(all) != 1 || !strings.Contains(err.Error(), "x.json") || !slices.Equal(server.serves(), both[1:]) {
			t.Errorf("%+v, %v, served %v", all, err, server.serves())
		}
		server.suspend()
	})
}
