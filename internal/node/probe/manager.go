package probe

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Observer counts. Its methods must not block (prober_probe_total and
// prober_probe_duration_seconds in pkg/kubelet/prober/prober_manager.go).
type Observer interface {
	// Probed reports an answer, Success or Failure, and how long it took.
	Probed(p *v1.Pod, container string, t Type, answer pod.ProbeResult, took time.Duration)
	// Stopped reports whether the probe has been stopped.
	Stopped(p *v1.Pod, container string, t Type)
}

// Options of a Manager. Exec, Status and Changed are required. All may be called
// by many goroutines at once, and only Exec may block.
type Options struct {
	Exec handler.Execer
	// Status is the pod's status as it is known now, false without one.
	Status func(uid types.UID) (v1.PodStatus, bool)
	// Changed is called when a result says something else than before: a
	// container that is not alive, has started or will not, is ready or is not
	// any more.
	Changed func(p *v1.Pod, t Type)
	// Events takes warnings, event.Unhealthy or event.ProbeWarning; nil drops
	// them. Their text may hold what an exec probe wrote.
	Events func(p *v1.Pod, e event.Event)
	// Brief returns a text about the pod without secrets, cut to a limit in bytes:
	// handler.Target. It must not block. nil cuts.
	Brief    func(uid types.UID, text string, limit int) string
	Observer Observer // may be nil
	// Jitter is at least 0 and below 1: the part of its period that a probe of
	// a pod that was taken over waits at first.
	Jitter func() float64
}

// Manager probes the containers of many pods.
type Manager struct {
	opt   Options
	start time.Time
	ctx   context.Context // ends with Close
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	pods   map[types.UID]*entry
}

// entry is the probes of one pod; pod never changes, the rest is guarded by the
// manager's mutex.
type entry struct {
	pod     *v1.Pod
	workers map[key]*worker
	results map[key]reading
}

// reading is the result of one probe, and of which container.
type reading struct {
	id     string
	result pod.ProbeResult
	// last is the last answer where that was a failure, else zero.
	last event.Probe
}

// New makes a Manager. It does nothing until Add.
func New(opt Options) *Manager {
	m := &Manager{opt: opt, start: time.Now(), pods: map[types.UID]*entry{}}
	m.ctx, m.end = context.WithCancel(context.Background())
	return m
}

// Close ends all probes, and returns when they have ended. Nothing begins after
// it.
func (m *Manager) Close() {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.end()
	m.wg.Wait()
}

// Add begins to probe the pod's containers, unless it has begun before. A pod
// that was adopted ran before: so that not all are probed at the same time, its probes
// begin one by one, if podctl has just begun itself.
func (m *Manager) Add(p *v1.Pod, adopted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.pods[p.UID] != nil {
		return
	}
	e := &entry{pod: p, workers: map[key]*worker{}, results: map[key]reading{}}
	for _, c := range containersWithProbes(p) {
		for _, t := range [...]Type{Startup, Readiness, Liveness} {
			if t.probeOf(c) != nil {
				e.workers[key{c.Name, t}] = m.startWorker(e, c, t, adopted)
			}
		}
	}
	if len(e.workers) > 0 {
		m.pods[p.UID] = e
	}
}

// containersWithProbes returns the containers that may have probes: regular ones and sidecars.
func containersWithProbes(p *v1.Pod) []*v1.Container {
	var all []*v1.Container
	for i := range p.Spec.Containers {
		all = append(all, &p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; pod.IsSidecar(c) {
			all = append(all, c)
		}
	}
	return all
}

// startWorker starts one probe. m.mu is held.
func (m *Manager) startWorker(e *entry, c *v1.Container, t Type, adopted bool) *worker {
	w := &worker{key: key{c.Name, t}, m: m, entry: e, c: c, spec: t.probeOf(c), hurry: make(chan struct{}, 1)}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(m.ctx)
	period := time.Duration(w.spec.PeriodSeconds) * time.Second
	var delay time.Duration
	if adopted && time.Since(m.start) < period {
		delay = time.Duration(m.opt.Jitter() * float64(period))
	}
	m.wg.Go(func() {
		w.run(ctx, delay)
		if m.opt.Observer != nil {
			m.opt.Observer.Stopped(e.pod, w.container, w.probe)
		}
	})
	return w
}

// ProbeNow has those containers asked at once whether they are ready that run,
// have started, and are not ready by this status
// (UpdatePodStatus in pkg/kubelet/prober/prober_manager.go).
func (m *Manager) ProbeNow(uid types.UID, s *v1.PodStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.pods[uid]
	if e == nil {
		return
	}
	for k, w := range e.workers {
		cs := statusOf(s, k.container)
		if k.probe != Readiness || cs == nil || cs.Ready || !viewOf(s, k.container).Started {
			continue
		}
		select {
		case w.hurry <- struct{}{}:
		default:
		}
	}
}

// Terminate ends the startup and liveness probes of the regular containers of
// a pod that is being ended: nothing will be restarted. What they said last
// counts as success, so that readiness is still asked and heard
// (StopLivenessAndStartup).
func (m *Manager) Terminate(uid types.UID) {
	status, known := m.opt.Status(uid)
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.pods[uid]
	if e == nil {
		return
	}
	for i := range e.pod.Spec.Containers {
		for _, t := range [...]Type{Startup, Liveness} {
			k := key{e.pod.Spec.Containers[i].Name, t}
			w := e.workers[k]
			if w == nil {
				continue
			}
			w.stop()
			delete(e.workers, k)
			if known {
				e.results[k] = reading{id: viewOf(&status, k.container).ID, result: pod.ProbeSuccess}
			}
		}
	}
}

// Remove ends all probes of the pod and forgets their results. It does not
// wait for them; they say nothing any more.
func (m *Manager) Remove(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.pods[uid]; e != nil {
		for _, w := range e.workers {
			w.stop()
		}
		delete(m.pods, uid)
	}
}

// Results returns what the pod's probes say now.
func (m *Manager) Results(uid types.UID) pod.ProbeResults {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := pod.ProbeResults{Startup: map[string]pod.ProbeResult{}, Liveness: map[string]pod.ProbeResult{}, Readiness: map[string]pod.ProbeResult{}}
	if e := m.pods[uid]; e != nil {
		for k, reading := range e.results {
			[...]map[string]pod.ProbeResult{Startup: r.Startup, Liveness: r.Liveness, Readiness: r.Readiness}[k.probe][reading.id] = reading.result
		}
	}
	return r
}

// Unready returns the probes of the pod that failed when they were last asked,
// sorted by container and type.
func (m *Manager) Unready(uid types.UID) []event.Unready {
	m.mu.Lock()
	defer m.mu.Unlock()
	var unready []event.Unready
	if e := m.pods[uid]; e != nil {
		for k, reading := range e.results {
			if reading.last != (event.Probe{}) {
				unready = append(unready, event.Unready{Container: k.container, Probe: reading.last})
			}
		}
	}
	slices.SortFunc(unready, func(a, b event.Unready) int {
		return cmp.Or(strings.Compare(a.Container, b.Container), strings.Compare(a.Probe.Type, b.Probe.Type))
	})
	return unready
}

// recordAnswer remembers the last answer, zero for a success.
func (m *Manager) recordAnswer(w *worker, last event.Probe) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w.entry.workers[w.key] == w && m.pods[w.entry.pod.UID] == w.entry {
		r := w.entry.results[w.key]
		r.last = last
		w.entry.results[w.key] = r
	}
}

// setResult makes a result known, of a probe that was not stopped meanwhile.
func (m *Manager) setResult(w *worker, id string, result pod.ProbeResult) {
	m.mu.Lock()
	if w.entry.workers[w.key] != w || m.pods[w.entry.pod.UID] != w.entry {
		m.mu.Unlock()
		return
	}
	before := w.entry.results[w.key]
	if before.id != id {
		before = reading{result: w.probe.initial()}
	}
	w.entry.results[w.key] = reading{id: id, result: result, last: before.last}
	m.mu.Unlock()
	if before.result != result && result != pod.ProbeUnknown && (w.probe != Liveness || result == pod.ProbeFailure) {
		m.opt.Changed(w.entry.pod, w.probe)
	}
}
