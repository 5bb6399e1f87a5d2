package podsync_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// program is how a container's process behaves.
type program struct {
	lifetime time.Duration // 0 lasts until stopped
	code     int32
	// onTerm is how long after a TERM it exits, with termCode; negative
	// ignores the signal.
	onTerm   time.Duration
	termCode int32
	// noStart fails the start, as a missing command does.
	noStart string
}

// call is one call that changed something.
type call struct {
	method, container string
	timeout           int64
	attempt           uint32
	detail            string
}

func (c call) String() string {
	s := c.method
	if c.container != "" {
		s += " " + c.container
	}
	switch c.method {
	case "CreateContainer":
		s += fmt.Sprintf("#%d", c.attempt)
	case "StopContainer":
		s += fmt.Sprintf(" %ds", c.timeout)
	}
	if c.detail != "" {
		s += " " + c.detail
	}
	return s
}

// fakeRuntime is a runtime of one pod whose processes are scripted and which
// lives in the time of its synctest bubble.
type fakeRuntime struct {
	program func(cfg *runtimeapi.ContainerConfig) program
	execs   func(command []string) (time.Duration, int32)
	// output is what commands write, "" for a text that no test expects.
	output string
	// fail is asked before every call that changes something, and fails it
	// with its answer.
	fail func(method, name string) error
	// refuse fails the creation of a container with its answer.
	refuse func(cfg *runtimeapi.ContainerConfig) error
	// images that are present; pulling any other fails with pullError.
	images    map[string]pod.Image
	pullError error
	// password is what pulls need, if any; users are the senders.
	password string
	users    []string
	// ip is the address of every sandbox that is not on the host's network.
	ip string
	// memory is what containers use, by id.
	memory map[string]int64
	// latency of every call but the stops.
	latency time.Duration

	mu         sync.Mutex
	calls      []call
	reads      []string
	status     pod.Status
	programs   map[string]program
	done       map[string]chan struct{}
	changed    chan struct{}
	next       int
	violations []string
}

func newFake() *fakeRuntime {
	return &fakeRuntime{
		program:  func(*runtimeapi.ContainerConfig) program { return program{} },
		images:   map[string]pod.Image{testImage: {ID: "sha256:busybox", Size: 1 << 20}},
		ip:       "10.88.0.7",
		latency:  20 * time.Millisecond,
		programs: map[string]program{}, done: map[string]chan struct{}{}, changed: make(chan struct{}, 1),
		status: pod.Status{UID: testUID, Name: "p", Namespace: "default"},
	}
}

const (
	testUID   = types.UID("7e7e0000-0000-4000-8000-00000000aaaa")
	testImage = "docker.io/library/busybox:latest"
)

func (f *fakeRuntime) begin(ctx context.Context, c call) error {
	time.Sleep(f.latency)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if f.fail != nil {
		return f.fail(c.method, c.container)
	}
	return nil
}

func (f *fakeRuntime) read(method string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, method)
}

// poke says that something changed, as a listing would show.
func (f *fakeRuntime) poke() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// snapshot is the pod's status as the runtime would tell it now.
func (f *fakeRuntime) snapshot() *pod.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.status
	st.At = time.Now()
	st.IPs = nil
	st.Sandboxes, st.Containers = nil, nil
	for _, s := range f.status.Sandboxes {
		c := *s
		st.Sandboxes = append(st.Sandboxes, &c)
		if len(st.Sandboxes) == 1 && c.State == pod.Running {
			st.IPs = c.IPs
		}
	}
	for _, s := range f.status.Containers {
		c := *s
		st.Containers = append(st.Containers, &c)
	}
	return &st
}

func (f *fakeRuntime) container(id string) *pod.ContainerStatus {
	return f.status.ContainerByID(id)
}

func (f *fakeRuntime) name(id string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.container(id); c != nil {
		return c.Name
	}
	return id
}

func (f *fakeRuntime) PodStatus(ctx context.Context, p *pod.Pod) (*pod.Status, error) {
	f.read("PodStatus")
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	st := f.snapshot()
	if len(p.Sandboxes) != 1 || p.Sandboxes[0].ID != st.Sandboxes[0].ID {
		return nil, fmt.Errorf("status of %v asked for", p.Sandboxes)
	}
	return st, nil
}
