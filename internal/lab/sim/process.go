package sim

import (
	"context"
	"io"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"mvdan.cc/sh/v3/syntax"

	"github.com/podctl/podctl/internal/pod"
)

// exitKilled is the exit code of a process that SIGKILL ended.
const exitKilled = 137

var signalNumbers = map[string]int{
	"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGUSR1": 10, "SIGUSR2": 12, "SIGTERM": 15, "SIGKILL": 9,
}

// program is what a process does: it returns the exit code, early when the
// process's context ends.
type program func(*process) int

// process is a container's first process.
type process struct {
	log      *containerLog
	env      map[string]string
	hostname string
	listens  string // see sandbox.listens
	clock    func() time.Time
	argv     []string
	ownPIDs  bool   // it has a pid namespace of its own
	dir      string // where it starts
	fs       *rootfs
	user     *runtimeapi.LinuxContainerUser
	pod      *runtimeapi.PodSandboxConfig
	stdin    io.Reader      // of the container, nil without
	typed    io.WriteCloser // what is written to stdin
	limit    uint64         // of memory, in bytes; 0 is none
	memory   atomic.Uint64  // in use, in bytes

	ctx    context.Context // ends with the process
	cancel context.CancelFunc
	jobs   jobs          // what runs in the background
	wake   chan struct{} // something is pending

	mu      sync.Mutex
	first   bool // of its pid namespace: signals without a trap are ignored
	stuck   bool // even SIGKILL does nothing
	oom     bool
	traps   map[string]trap
	pending []string
	ended   bool
	code    int
}

// trap is what a process does at a signal: nothing, or a command.
type trap struct {
	ignore bool
	body   *syntax.File
}

func (r *Runtime) newProcess(c *container, log *containerLog, s Script) *process {
	security := c.config.GetLinux().GetSecurityContext()
	ns := security.GetNamespaceOptions()
	p := &process{
		log:      log,
		env:      map[string]string{"PATH": "/bin", "HOME": "/root"},
		hostname: c.sandbox.config.GetHostname(),
		listens:  c.sandbox.listens(),
		clock:    r.opts.Clock,
		argv:     c.argv(),
		dir:      path.Join("/", c.config.GetWorkingDir()),
		user:     c.user().GetLinux(),
		pod:      c.sandbox.config,
		limit:    uint64(max(0, c.config.GetLinux().GetResources().GetMemoryLimitInBytes())),
		wake:     make(chan struct{}, 1),
		first:    ns.GetPid() == runtimeapi.NamespaceMode_CONTAINER,
		ownPIDs:  ns.GetPid() == runtimeapi.NamespaceMode_CONTAINER,
		stuck:    s.IgnoreKill,
		traps:    map[string]trap{},
	}
	p.memory.Store(memoryUsed)
	p.fs = &rootfs{
		own: &layer{}, volumes: &c.sandbox.volumes, mounts: c.config.GetMounts(), security: security,
		message: c.config.GetAnnotations()[pod.TerminationMessagePathAnnotation], given: p.givenFile,
	}
	if c.config.GetStdin() {
		p.stdin, p.typed = io.Pipe()
	}
	for _, kv := range c.config.GetEnvs() {
		p.env[kv.Key] = string(kv.Value)
	}
	if script := c.annotated(); script != "" {
		p.env["ATTEMPT"] = strconv.Itoa(int(c.config.GetMetadata().GetAttempt()))
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// run runs the program to its end and returns the exit code.
func (p *process) run(prog program) int {
	p.end(prog(p))
	p.jobs.Wait()
	p.log.close()
	return p.code
}

// end ends the process; the first code counts.
func (p *process) end(code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended, p.code = true, code
	}
	p.cancel()
	if p.typed != nil {
		_ = p.typed.Close()
	}
}

// grow takes memory. The kernel kills a process that takes more than its limit.
func (p *process) grow(bytes uint64) {
	if used := p.memory.Add(bytes); p.limit == 0 || used <= p.limit {
		return
	}
	p.mu.Lock()
	p.oom = true
	p.mu.Unlock()
	p.end(exitKilled)
}

// signal delivers a signal.
func (p *process) signal(name string) {
	p.mu.Lock()
	t, trapped := p.traps[name]
	first, stuck := p.first, p.stuck
	if trapped && !t.ignore && !stuck && name != "SIGKILL" {
		p.pending = append(p.pending, name)
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	p.mu.Unlock()
	switch {
	case stuck:
	case name == "SIGKILL":
		p.end(exitKilled)
	case !trapped && !first:
		p.end(128 + signalNumbers[name])
	}
}

// takePending returns the command of the oldest signal not yet handled.
func (p *process) takePending() (*syntax.File, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 {
		return nil, false
	}
	t := p.traps[p.pending[0]]
	p.pending = p.pending[1:]
	if t.body == nil { // the trap has changed since
		t.body = &syntax.File{}
	}
	return t.body, true
}

func (p *process) setTrap(signal string, t trap) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traps[signal] = t
}

// hasPending reports whether takePending has something to return.
func (p *process) hasPending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.pending) > 0
}

// obey makes any signal end the process: what is done with a program that the
// sim knows nothing about.
func (p *process) obey() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first, p.traps = false, map[string]trap{}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
