package probe

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// key names one probe of a pod.
type key struct {
	container string
	probe     Type
}

// worker is one probe of one container: a goroutine that owns state.
type worker struct {
	key
	m     *Manager
	entry *entry
	c     *v1.Container
	spec  *v1.Probe
	// stop ends the goroutine and what it is asking.
	stop context.CancelFunc
	// hurry makes it ask now; it has room for one.
	hurry chan struct{}

	state State
	// failures is how often in a row the container was answered for with a failure, or not.
	failures int32
}

// run looks at the container every period, first after a delay, until there is
// nothing more to probe or ctx ends.
func (w *worker) run(ctx context.Context, delay time.Duration) {
	defer w.stop()
	first := time.NewTimer(delay)
	defer first.Stop()
	select {
	case <-first.C:
	case <-ctx.Done():
		return
	}
	period := time.Duration(w.spec.PeriodSeconds) * time.Second
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for w.probeIfDue(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.hurry:
			ticker.Reset(period)
		}
	}
}

// probeIfDue does what is due, and reports whether it will be due again.
func (w *worker) probeIfDue(ctx context.Context) (again bool) {
	status, known := w.m.opt.Status(w.entry.pod.UID)
	if !known {
		return true
	}
	v := viewOf(&status, w.container)
	v.RanBefore = pod.RanBefore(v.StartedAt, w.m.start)
	next, verdict := w.state.Next(w.probe, w.spec, v, time.Now())
	isNew := next.ID != w.state.ID
	if isNew {
		w.failures = 0
	}
	w.setState(ctx, next)
	if isNew && !v.Running && !v.Exited && w.probe != Liveness && ctx.Err() == nil {
		// The kubelet syncs at the first look at a container (Set in pkg/kubelet/prober/results/results_manager.go):
		// one that was not started is tried again. Where it runs, that sync would change nothing.
		w.m.opt.Changed(w.entry.pod, w.probe)
	}
	if verdict != Ask {
		return verdict == Wait
	}
	start := time.Now()
	answer, ok := w.runProbe(ctx, status.PodIP)
	if !ok {
		return true
	}
	if w.m.opt.Observer != nil {
		w.m.opt.Observer.Probed(w.entry.pod, w.container, w.probe, answer, time.Since(start))
	}
	w.setState(ctx, w.state.WithResult(w.probe, w.spec, answer))
	return true
}

// setState takes the next state and makes its result known.
func (w *worker) setState(ctx context.Context, next State) {
	w.state = next
	if next.ID != "" && ctx.Err() == nil {
		w.m.setResult(w, next.ID, next.Result)
	}
}

// attempts is how often a question is put that could not be put
// (maxProbeRetries in pkg/kubelet/prober/prober.go).
const attempts = 3

// runProbe puts the question. It is not ok if there was no answer: that counts
// neither as success nor as failure.
func (w *worker) runProbe(ctx context.Context, podIP string) (answer pod.ProbeResult, ok bool) {
	target := handler.Target{ContainerID: w.state.ID, Container: w.c, PodIP: podIP}
	if w.m.opt.Brief != nil {
		target.Brief = func(text string, limit int) string { return w.m.opt.Brief(w.entry.pod.UID, text, limit) }
	}
	var result handler.Result
	var output string
	var err error
	for range attempts {
		result, output, err = handler.Probe(ctx, w.m.opt.Exec, target, w.spec)
		if ctx.Err() != nil {
			return pod.ProbeUnknown, false
		}
		if err == nil {
			break
		}
	}
	w.failures++
	switch {
	case err != nil:
		w.event(event.Unhealthy, event.ProbeErrored, err.Error(), "%s probe errored and resulted in %s state: %v", w.probe, result, err)
		return pod.ProbeUnknown, false
	case result == handler.Failure:
		w.event(event.Unhealthy, event.ProbeFailed, output, "%s probe failed: %s", w.probe, output)
		return pod.ProbeFailure, true
	case result == handler.Warning:
		w.failures = 0
		w.event(event.ProbeWarning, event.ProbeWarned, output, "%s probe warning: %s", w.probe, output)
	}
	w.failures = 0
	w.m.recordAnswer(w, event.Probe{})
	return pod.ProbeSuccess, true
}

// event sends a warning in the kubelet's words, and remembers a failure.
func (w *worker) event(reason string, result event.ProbeResult, output, format string, args ...any) {
	p := event.Probe{Type: w.probe.String(), Result: result, Output: output, Failures: w.failures}
	if reason == event.Unhealthy {
		w.m.recordAnswer(w, p)
	}
	if w.m.opt.Events != nil {
		w.m.opt.Events(w.entry.pod, event.Event{
			Container: w.container, Reason: reason, Warning: true, Message: fmt.Sprintf(format, args...), Probe: &p,
		})
	}
}
