package main

import (
	"fmt"
	"net"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/metrics"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/worker"
)

// shown is what a session shows to others: its metrics, its events, its calls
// of the runtime.
type shown struct {
	now     func() time.Time
	metrics *metrics.Metrics
	calls   *callsInFlight
	events  control.Broadcaster
}

func newShown(now func() time.Time) *shown {
	return &shown{
		now: now, metrics: metrics.New(now),
		calls: &callsInFlight{now: now, calls: map[*criCall]struct{}{}},
	}
}

// tell sends events to whoever reads /events, and to next unless it is nil.
func (s *shown) tell(next func(node.Event)) func(node.Event) {
	return func(ev node.Event) {
		s.events.Send(control.Event{
			Time: ev.Time, Namespace: ev.Namespace, Name: ev.Name, UID: ev.UID, Container: ev.Container,
			Phase: ev.Phase, Reason: ev.Reason, Message: ev.Message, Warning: ev.Warning, State: ev.State,
		})
		if next != nil {
			next(ev)
		}
	}
}

// serve opens the control socket, and the port that the user wants. A podctl
// that cannot have its socket does its work without; a port that cannot be had
// is an error.
func (s *session) serve(e *env, p paths, o nodeOptions) error {
	host := nodeHost{s.Node, s.shown}
	s.shown.metrics.Show(host.state)
	handler := s.shown.metrics.Handler()
	if o.listen != "" {
		l, err := net.Listen("tcp", o.listen)
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		s.onClose(control.Serve(l, control.Public(host.Checks(), handler), e.log).Close)
		e.log.Info("serves metrics", "address", l.Addr().String())
	}
	l, err := e.listen(p.locks, o.instance)
	if err != nil {
		e.log.Warn("no control socket", "err", err)
		return nil
	}
	s.onClose(control.Serve(l, control.Handler(host, &s.shown.events, handler), e.log).Close)
	s.onClose(func() error { s.shown.events.Close(); return nil })
	return nil
}

// state is what the gauges are counted from.
func (h nodeHost) state() metrics.State {
	health, _ := h.PLEG() // the error is for /healthz
	s := metrics.State{
		Workers: h.Node.Workers(), Runtime: h.RuntimePods(), PLEG: health, Unhinted: h.Unhinted(),
		Calls: h.shown.calls.sinceByMethod(),
	}
	for _, i := range h.Node.Pods() {
		if !i.Desired {
			continue
		}
		s.Desired = append(s.Desired, i.Pod)
		if active(i) {
			s.Active = append(s.Active, i.Pod)
		}
	}
	return s
}

// active tells whether a desired pod has not ended (filterOutInactivePods in
// pkg/kubelet/kubelet_pods.go).
func active(i node.Info) bool {
	return i.Rejected == nil && i.Stage < worker.Terminated && i.Status.Phase != v1.PodSucceeded && i.Status.Phase != v1.PodFailed
}

// isHostPort tells whether one may listen there.
func isHostPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
