package pleg

import (
	"context"
	"fmt"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// call is a relist or a status read of one pod in flight.
type call struct {
	deadline time.Time
	cancel   context.CancelFunc
	slow     bool
	expired  bool
	end      func() // takes it out of the health report
	// after runs in the loop: once with the result of the call, or with the
	// error of its deadline; and again with late set if the call returns after
	// its deadline, when its result is discarded.
	after func(err error, late bool)
}

// startCall makes a call in a goroutine of its own.
func (l *loop) startCall(about Call, run func(context.Context) error, after func(err error, late bool)) *call {
	ctx, cancel := context.WithCancel(l.ctx)
	c := &call{deadline: about.Since.Add(l.opts.CallDeadline), cancel: cancel, end: l.health.beginCall(about), after: after}
	l.calls[c] = struct{}{}
	l.spawn(func() func() {
		err := run(ctx)
		return func() { l.callReturned(c, err) }
	})
	return c
}

func (l *loop) callReturned(c *call, err error) {
	if !c.expired {
		l.endCall(c)
	}
	c.after(err, c.expired)
}

// expireCalls abandons the calls that have passed their deadlines.
func (l *loop) expireCalls(now time.Time) {
	for c := range l.calls {
		if !now.Before(c.deadline) {
			c.expired = true
			l.endCall(c)
			c.after(errDeadline, false)
		}
	}
}

func (l *loop) endCall(c *call) {
	delete(l.calls, c)
	if c.slow {
		l.slow--
	}
	c.cancel()
	c.end()
}

var errDeadline = fmt.Errorf("the runtime does not answer: %w", context.DeadlineExceeded)

// inFlightError is the cached error of a pod whose status does not come.
func inFlightError(p *pod.Pod, age time.Duration) error {
	return fmt.Errorf("status of %s in flight for %v: %w", pod.DisplayName(p.Namespace, p.Name), age.Round(time.Millisecond), context.DeadlineExceeded)
}
