package sim

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/inject"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Options are a runtime's properties. The zero value is one with events,
// cgroupfs, a ready network and every image.
type Options struct {
	// Clock stamps what happens; nil means time.Now. Waiting is by timers,
	// whatever Clock says.
	Clock func() time.Time
	// CgroupDriver is "cgroupfs" (the default), "systemd", or "none": then
	// RuntimeConfig is unimplemented, as before containerd 2.0.
	CgroupDriver string
	// Handlers are the runtime handlers beside the default and "runc".
	Handlers []string
	// Info is the verbose part of the runtime's status.
	Info map[string]string
	// Record keeps every call for Calls.
	Record bool
}

// Name is what a runtime calls itself, unless SetVersion changes it: cri.SimName, which cannot be
// named here, since tests of package cri use this one.
const Name = "podctl-sim"

// Runtime is a CRI runtime in memory.
type Runtime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer

	// Faults injects faults into calls; tests use Inject.
	Faults *inject.Injector

	opts    Options
	gate    *gate
	streams streams
	// running counts the goroutines of processes.
	running sync.WaitGroup

	known trace.Names // of pods and containers

	mu         sync.Mutex
	sandboxes  map[string]*sandbox
	containers map[string]*container
	names      map[string]string // reserved name → id
	images     map[string]*image // by normalized reference
	scripts    map[string][]Script
	ips        map[int]bool
	freeIP     int                                            // no lower address is free
	ports      map[string]map[uint16]func(io.ReadWriteCloser) // by pod, see ServePort
	name       string                                         // what it calls itself
	version    string
	storage    string // the directory of its images, which no other runtime has
	network    string // why the network is not ready, "" if it is
	loopback   bool   // see SetLoopback
	lastID     int
	lastStamp  time.Time
	calls      []Call
	events     eventState
}

// New makes a runtime. It serves by Dial at once.
func New(o Options) *Runtime {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	r := &Runtime{
		opts:       o,
		name:       Name,
		version:    "2.4.2",
		storage:    "/var/lib/podctl-sim/" + rand.Text(),
		sandboxes:  map[string]*sandbox{},
		containers: map[string]*container{},
		names:      map[string]string{},
		images:     map[string]*image{},
		scripts:    map[string][]Script{},
		ips:        map[int]bool{},
		ports:      map[string]map[uint16]func(io.ReadWriteCloser){},
	}
	r.Faults = inject.New(inject.Options{Now: time.Now, Names: &r.known}, &rules.Set{})
	r.gate = newGate(r.newServer)
	return r
}

// Close kills every process and stops serving.
func (r *Runtime) Close() {
	r.mu.Lock()
	for _, c := range r.containers {
		if c.process != nil {
			c.process.end(exitKilled)
		}
	}
	for _, s := range r.sandboxes {
		s.closeHostPorts()
	}
	r.mu.Unlock()
	r.gate.close()
	r.streams.stop()
	r.running.Wait()
}

// SetNetwork makes the network ready again ("") or not, with the reason: pods
// that are not on the host's network then fail to start.
func (r *Runtime) SetNetwork(problem string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.network = problem
}

// container returns the one of an id, or of a prefix of an id that no other has; nil if
// there is none. r.mu is held.
func (r *Runtime) container(id string) *container { return byID(r.containers, id) }

// sandbox is the same for sandboxes.
func (r *Runtime) sandbox(id string) *sandbox { return byID(r.sandboxes, id) }

func byID[T any](all map[string]*T, id string) *T {
	if found := all[id]; found != nil || id == "" {
		return found
	}
	var found *T
	for whole, one := range all {
		if strings.HasPrefix(whole, id) {
			if found != nil {
				return nil
			}
			found = one
		}
	}
	return found
}

// SetStorage makes a path that exists the place of the runtime's images, for a kubelet
// that looks at its filesystem. No other runtime may have it.
func (r *Runtime) SetStorage(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.storage = path
}

// newID makes the next id: 64 hex digits, the same in every run.
func (r *Runtime) newID() string {
	r.lastID++
	sum := sha256.Sum256(fmt.Append(nil, "podctl sim ", r.lastID))
	return hex.EncodeToString(sum[:])
}

// stamp is the time of something that happens now: later than any before,
// unless the clock was set back.
func (r *Runtime) stamp() int64 {
	now := r.opts.Clock()
	if ahead := r.lastStamp.Sub(now); 0 <= ahead && ahead < time.Second {
		now = r.lastStamp.Add(1)
	}
	r.lastStamp = now
	return now.UnixNano()
}

// lastIP is the last address of 10.88.0.0/16 but the broadcast one: how many pods
// with a network of their own there can be.
const lastIP = 1<<16 - 2

// takeIP hands out the lowest free address of 10.88.0.0/16.
func (r *Runtime) takeIP() (n int, ok bool) {
	for n = max(r.freeIP, 2); r.ips[n]; n++ {
	}
	if n > lastIP {
		return 0, false
	}
	r.ips[n], r.freeIP = true, n+1
	return n, true
}

func (r *Runtime) releaseIP(n int) {
	delete(r.ips, n)
	r.freeIP = min(r.freeIP, n)
}

// Version names the runtime: a containerd of its own kind.
func (r *Runtime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: r.name, RuntimeVersion: r.version, RuntimeApiVersion: "v1",
	}, nil
}

// SetVersion makes the runtime call itself something else.
func (r *Runtime) SetVersion(name, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.version = name, version
}

// Status answers the conditions and the handlers.
func (r *Runtime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	network := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: r.network == ""}
	if r.network != "" {
		network.Reason = "NetworkPluginNotReady"
		network.Message = "Network plugin returns error: " + r.network
	}
	resp := &runtimeapi.StatusResponse{
		Info: r.opts.Info,
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			{Type: runtimeapi.RuntimeReady, Status: true}, network,
			{Type: "ContainerdHasNoDeprecationWarnings", Status: true},
		}},
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}
	for _, name := range append([]string{"", "runc"}, r.opts.Handlers...) {
		resp.RuntimeHandlers = append(resp.RuntimeHandlers, &runtimeapi.RuntimeHandler{
			Name: name, Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true},
		})
	}
	return resp, nil
}

// RuntimeConfig names the cgroup driver.
func (r *Runtime) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	driver := runtimeapi.CgroupDriver_CGROUPFS
	switch r.opts.CgroupDriver {
	case "none":
		return nil, errorf(codes.Unimplemented, "method RuntimeConfig not implemented")
	case "systemd":
		driver = runtimeapi.CgroupDriver_SYSTEMD
	}
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: driver}}, nil
}
