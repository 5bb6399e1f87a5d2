package pleg

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Stepper is a PLEG without goroutines, timers or a hint stream of its own:
// the caller sets the time, makes runtime calls return and delivers the
// runtime's events. The loop is that of Run. A recorded history is replayed in
// the same order without waiting.
//
// It is not safe for concurrent use, and time never goes back.
type Stepper struct {
	p       *PLEG
	l       *loop
	now     time.Time
	started []*Pending
}

// Pending is a call of the runtime that the PLEG has started.
type Pending struct {
	Call
	work func() (after func())
}

// NewStepper returns a PLEG of the runtime, which is called in Return only and
// has to answer at once; its Hints is not called. opts.Now and opts.Broadcasts
// are not used.
func NewStepper(ctx context.Context, rt Runtime, opts Options) *Stepper {
	s := &Stepper{}
	opts.Now = func() time.Time { return s.now }
	s.p = New(rt, opts)
	s.l = newLoop(ctx, s.p)
	s.l.spawn = func(about Call, work func() func()) {
		s.started = append(s.started, &Pending{about, work})
	}
	return s
}

// Subscribe is PLEG.Subscribe.
func (s *Stepper) Subscribe() *Subscription { return s.p.Subscribe() }

// Health is PLEG.Health.
func (s *Stepper) Health() Health { return s.p.Health() }

// Unhinted is PLEG.Unhinted.
func (s *Stepper) Unhinted() int { return s.p.Unhinted() }

// Step lets the PLEG do what is due, and returns when something else is due
// without further input.
func (s *Stepper) Step(now time.Time) (due time.Time) {
	s.now = now
	return now.Add(s.l.step())
}

// Started returns the calls that were started since the last call of Started.
func (s *Stepper) Started() []*Pending {
	started := s.started
	s.started = nil
	return started
}

// Return makes a call return: the runtime is called now, and the PLEG receives
// the answer. A call returns once. Step follows.
func (s *Stepper) Return(now time.Time, c *Pending) {
	s.now = now
	c.work()()
}

// HintsOpened reports that the hint stream is open, and whether the runtime is
// known to broadcast. Step follows, as after HintsEnded, Hint and Relist.
func (s *Stepper) HintsOpened(now time.Time, broadcast bool) {
	s.now = now
	s.p.hintsOpened(now, broadcast)
}

// HintsEnded reports why the hint stream has ended, or could not be opened.
func (s *Stepper) HintsEnded(now time.Time, err error) {
	s.now = now
	s.p.hintsEnded(err)
}

// Hint delivers an event.
func (s *Stepper) Hint(now time.Time, h pod.Hint) {
	s.now = now
	s.p.hinted(h)
}

// Relist requests a relist of one pod for a source, or of all pods if uid is "".
func (s *Stepper) Relist(now time.Time, uid types.UID, source Source) {
	s.now = now
	if uid == "" {
		s.l.requestFullRelist(now)
		return
	}
	s.l.requestRelist(uid, relistRequest{source: source, awaited: true, seq: s.p.cache.lastSeq()})
}
