package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
)

// watching is one `podctl pleg watch` under way.
type watching struct {
	env     *env
	opts    watchOptions
	session *plegSession
	meter   *plegMeter
	calls   *cri.Calls
	subject *pleg.Subscription
	printer watchPrinter
	stats   watchStats
	began   time.Time
	// listed: the first list has come, or what else is to be printed, and the
	// header is out.
	listed bool
	// waits are the calls in flight that have got a line.
	waits []wait
}

const (
	// waitWorthALine is the age from which a call in flight gets one.
	waitWorthALine = 5 * time.Second
	// lookPeriod is how often calls in flight are looked at; firstLook until
	// the first list has come.
	lookPeriod = time.Second
	firstLook  = 50 * time.Millisecond
)

// runWatch prints events until it is interrupted or has shown what it should.
func runWatch(ctx context.Context, e *env, o watchOptions) error {
	w := &watching{env: e, opts: o, meter: newPLEGMeter(e.now), calls: cri.NewTimedCalls(e.now), printer: newWatchPrinter(e, o)}
	session, err := beginPLEG(ctx, e, o.globals, plegOptions{source: o.source, period: o.period, observer: w.meter, calls: w.calls})
	if err != nil {
		return err
	}
	defer session.Close()
	w.session, w.subject, w.began = session, session.Subscribe(), e.now()
	session.start(ctx)
	return w.run()
}

func (w *watching) run() error {
	var timeout <-chan time.Time
	if w.opts.last > 0 {
		timer := time.NewTimer(w.opts.last)
		defer timer.Stop()
		timeout = timer.C
	}
	look := time.NewTicker(firstLook)
	defer look.Stop()
	for !w.full() {
		select {
		case <-w.subject.Ready():
		case <-w.meter.ready:
		case <-look.C:
			if w.listed {
				look.Reset(lookPeriod)
			}
		case <-timeout:
			if err := w.end(nil); err != nil || w.opts.count == 0 {
				return err
			}
			return fmt.Errorf("%d of %s in %s", w.stats.events, plural(w.opts.count, "event"), w.opts.last)
		case signal := <-w.env.interrupts:
			return w.end(signal)
		}
		if err := w.drain(); err != nil {
			return err
		}
	}
	return w.end(nil)
}

// full: as many events have been shown as were asked for.
func (w *watching) full() bool { return w.opts.count > 0 && w.stats.events >= w.opts.count }

// end prints what is left, and the summary.
func (w *watching) end(signal os.Signal) error {
	if err := w.drain(); err != nil {
		return err
	}
	if signal == os.Interrupt && w.env.tty && w.opts.output == "" {
		// The terminal has echoed a ^C.
		if _, err := io.WriteString(w.env.out, " "); err != nil {
			return err
		}
	}
	now := w.env.now()
	return w.printer.summary(now, w.stats.summary(now.Sub(w.began), w.meter, w.session.Unhinted()))
}

// drain prints what has come since the last time.
func (w *watching) drain() error {
	notes, seen := w.meter.take(), w.take()
	if !w.listed && (len(notes) > 0 || len(seen) > 0 || !w.session.Health().LastRelist.IsZero()) {
		w.listed = true
		if err := w.printer.begin(w.session.Pods()); err != nil {
			return err
		}
	}
	for _, n := range notes {
		if n.err != nil && w.opts.source == sourceEvents {
			return fmt.Errorf("--source events: %w", n.err)
		}
		if err := w.printer.note(n.at, n.text); err != nil {
			return err
		}
	}
	if len(seen) > 0 {
		if err := w.printer.events(seen); err != nil {
			return err
		}
	}
	return w.look()
}

// take returns the events that are to be shown.
func (w *watching) take() []seenEvent {
	var seen []seenEvent
	now := w.env.now()
	for _, ev := range w.subject.Take() {
		if w.full() {
			break
		}
		if ev.Initial && !w.opts.initial || !w.opts.filter.shows(ev) {
			continue
		}
		s := seenEvent{ev, now}
		w.stats.add(s)
		seen = append(seen, s)
	}
	return seen
}

// look says once of each call that hangs that it does, and when it does no
// more.
func (w *watching) look() error {
	now := w.env.now()
	var hanging []wait
	for _, c := range w.session.Health().InFlight {
		if now.Sub(c.Since) >= waitWorthALine {
			hanging = append(hanging, waitsFor(w.calls, c, w.session.Pods()))
		}
	}
	for _, old := range w.waits {
		if !slices.ContainsFunc(hanging, old.sameAs) {
			if err := w.printer.note(now, fmt.Sprintf("answered after %s: %s", ageText(now.Sub(old.since)), old.text(w.opts.noTrunc))); err != nil {
				return err
			}
		}
	}
	for _, h := range hanging {
		if !slices.ContainsFunc(w.waits, h.sameAs) {
			if err := w.printer.note(now, fmt.Sprintf("no answer for %s: %s", ageText(now.Sub(h.since)), h.text(w.opts.noTrunc))); err != nil {
				return err
			}
		}
	}
	w.waits = hanging
	return nil
}
