package tape

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// slack is how much later than necessary a live loop may have acted.
const slack = 100 * time.Millisecond

// PlayOptions of a replay. The zero value replays as fast as possible, without
// reporting events.
type PlayOptions struct {
	// Events receives the events as they occur, with the time of the recording.
	Events func(now time.Time, events []pleg.Event)
	// Wait is called before the clock advances to that time; an error ends the
	// replay. nil: no waiting.
	Wait     func(ctx context.Context, until time.Time) error
	Observer pleg.Observer
	Log      *slog.Logger
}

// Report is the result of a replay.
type Report struct {
	// Span is the time that the tape spans, as far as it was replayed.
	Span time.Duration
	// Missing counts the calls that this podctl made and the recorded one did
	// not, Unasked those that it would not have made, or had no use for.
	Missing, Unasked int
	// Unhinted is pleg.PLEG.Unhinted.
	Unhinted int
}

// player is a replay in progress.
type player struct {
	opts   PlayOptions
	rt     *lastAnswers
	s      *pleg.Stepper
	events *pleg.Subscription
	now    time.Time
	// timer is when the loop needs a step without input. inputSince is since when there is
	// input that it has not processed; zero if there is none.
	timer, inputSince time.Time
	// recorded are the calls of the tape that were not answered yet, waiting
	// those of the loop. unasked are answers of the tape that came a moment ago
	// and that the loop has not asked for.
	recorded map[int]*recordedCall
	waiting  []*loopCall
	unasked  []*recordedCall
	open     bool // the hint stream
	slack    time.Duration
	report   Report
}

// recordedCall is a call on the tape.
type recordedCall struct {
	entry
	by *loopCall // the loop's call that matches; nil if there is none
	// answer and answeredAt are set once the call has returned.
	answer     *answer
	answeredAt time.Time
}

// loopCall is a call of the loop.
type loopCall struct {
	*pleg.Pending
	since time.Time
	as    *recordedCall // the tape's call that matches; nil if there is none yet
}

// Play replays a tape to its end. What it returned until an error of the
// reader has been replayed.
func Play(ctx context.Context, t *Reader, o PlayOptions) (Report, error) {
	p := &player{opts: o, rt: newLastAnswers(), recorded: map[int]*recordedCall{}, slack: slack}
	if period := time.Duration(t.Header.Period); period > 0 {
		p.slack = min(slack, period/4)
	}
	p.s = pleg.NewStepper(ctx, p.rt, pleg.Options{
		Period: time.Duration(t.Header.Period), HintsOnly: t.Header.HintsOnly, Observer: o.Observer, Log: o.Log,
	})
	p.events = p.s.Subscribe()
	p.now, p.timer = t.Header.Start, t.Header.Start
	err := p.play(ctx, t)
	p.report.Unhinted = p.s.Unhinted()
	return p.report, err
}

func (p *player) play(ctx context.Context, t *Reader) error {
	for {
		e, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		at := t.Header.Start.Add(time.Duration(e.T))
		if err := p.advanceTo(ctx, at); err != nil {
			return err
		}
		p.report.Span = time.Duration(e.T)
		p.apply(e)
	}
}

// advanceTo advances the clock to a time, and steps the loop when it acts by itself well
// before that, without an entry on the tape.
func (p *player) advanceTo(ctx context.Context, at time.Time) error {
	for {
		act, when := p.step, p.timer
		if !p.inputSince.IsZero() && p.inputSince.Before(when) {
			when = p.inputSince
		}
		if !when.Add(p.slack).Before(at) {
			act = nil
		}
		if w := p.unrecordedCall(); w != nil {
			if t := w.since.Add(p.slack); t.Before(at) && (act == nil || t.Before(when)) {
				act, when = func() { p.answerUnrecorded(w) }, t
			}
		}
		if act == nil {
			return p.advance(ctx, at)
		}
		if err := p.advance(ctx, when); err != nil {
			return err
		}
		act()
	}
}

func (p *player) advance(ctx context.Context, to time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !to.After(p.now) {
		return nil
	}
	if p.opts.Wait != nil {
		if err := p.opts.Wait(ctx, to); err != nil {
			return err
		}
	}
	p.now = to
	return nil
}

// apply applies an entry of the tape.
func (p *player) apply(e entry) {
	switch e.Do {
	case kindCall:
		p.addRecordedCall(&recordedCall{entry: e})
	case kindAnswer:
		p.addRecordedAnswer(e)
	case kindOpened:
		p.s.HintsOpened(p.now, true) // podctl subscribes to no other runtimes
		p.open = true
		p.inputAdded()
	case kindHint:
		p.s.Hint(p.now, e.Hint.hint())
		p.inputAdded()
	case kindClosed:
		p.open = false
		p.s.HintsEnded(p.now, streamError(e))
		p.inputAdded()
	}
}

// streamError returns why a hint stream ended.
func streamError(e entry) error {
	switch {
	case e.Unsupported:
		return unsupported(e.Error)
	case e.Error == "":
		return io.EOF
	}
	return errors.New(e.Error)
}

// unsupported is the text of an error that is errors.ErrUnsupported.
type unsupported string

func (u unsupported) Error() string { return string(u) }
func (unsupported) Unwrap() error   { return errors.ErrUnsupported }

// inputAdded records that the loop has input. It processes it with the tape's next call:
// input that a live loop processed together is processed together.
func (p *player) inputAdded() {
	if p.inputSince.IsZero() {
		p.inputSince = p.now
	}
}

func (p *player) step() {
	p.timer, p.inputSince = p.s.Step(p.now), time.Time{}
	for _, c := range p.s.Started() {
		p.addLoopCall(&loopCall{Pending: c, since: p.now})
	}
	p.deliver()
}

func (p *player) deliver() {
	if events := p.events.Take(); len(events) > 0 && p.opts.Events != nil {
		p.opts.Events(p.now, events)
	}
}
