package daemon

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/metrics"
	"github.com/podctl/podctl/internal/serve/survey"
	"github.com/podctl/podctl/internal/worker"
)

// served is what a session serves beside its pods: metrics, events and the
// runtime calls in flight.
type served struct {
	now     func() time.Time
	metrics *metrics.Metrics
	calls   *cri.Calls
	events  control.Broadcaster
	// scanner is nil where the session does not scan.
	scanner atomic.Pointer[survey.Scanner]
}

func newServed(now func() time.Time) *served {
	return &served{now: now, metrics: metrics.New(now), calls: cri.NewCalls(now)}
}

// send sends events to the readers of /events, and to next unless it is nil.
func (s *served) send(next func(event.Event)) func(event.Event) {
	return func(ev event.Event) {
		s.events.Send(ev)
		if next != nil {
			next(ev)
		}
	}
}

// serve opens the control socket and, if asked for, the port. Without a control
// socket the session goes on; a port that cannot be opened is an error.
func (s *Session) serve(p host.Paths) error {
	host := nodeHost{s.Node, s.locks.ID(), s.served}
	s.served.metrics.SetStateFunc(host.state)
	handler := s.served.metrics.Handler()
	if s.opts.Address != "" {
		l, err := net.Listen("tcp", s.opts.Address)
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		s.onClose(control.ServePublic(l, control.Public(host.Checks(), handler), s.opts.Log).Close)
		s.opts.Log.Info("serves metrics", "address", l.Addr().String())
	}
	s.control.log, s.control.open = s.opts.Log, func() (*control.Server, error) {
		l, err := s.opts.Listen(p.Locks, s.opts.Instance)
		if err != nil {
			return nil, err
		}
		return control.Serve(l, control.Handler(host, &s.served.events, handler), s.opts.Log), nil
	}
	s.control.reopen()
	s.onClose(s.control.Close)
	s.onClose(func() error { s.served.events.Close(); return nil })
	return nil
}

// state returns what the gauges are counted from.
func (h nodeHost) state() metrics.State {
	health, unhealthy := h.PLEG()
	s := metrics.State{
		Workers: h.Node.Workers(), Runtime: h.RuntimePods(), PLEG: health, Unhealthy: unhealthy, Unhinted: h.Unhinted(),
		Calls: h.served.calls.Unanswered(),
	}
	if scanner := h.served.scanner.Load(); scanner != nil {
		latest := scanner.Latest()
		s.Survey = &latest
	}
	for _, i := range h.Node.Pods() {
		if !i.Desired {
			continue
		}
		s.Desired = append(s.Desired, i.Pod)
		if isActive(i) {
			s.Active = append(s.Active, i.Pod)
		}
	}
	return s
}

// isActive reports whether a desired pod holds what it requests: one that has
// failed does while it terminates (filterOutInactivePods in
// pkg/kubelet/kubelet_pods.go).
func isActive(i node.Info) bool {
	return i.Admitted() && i.WorkerPhase < worker.Terminated && (i.WorkerPhase == worker.Terminating || !pod.IsTerminal(i.Status.Phase))
}
