package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// plegMeter is told what a PLEG does, and keeps what is worth a line or a
// number.
type plegMeter struct {
	now func() time.Time
	// ready has a value when take may have notes.
	ready chan struct{}

	mu    sync.Mutex
	notes []plegNote
	// relists are the list calls of the full relists that were answered.
	relists durations
	// lastErr is why the last relist failed, nil if it did not.
	lastErr error
	// down is since when the runtime has not answered, zero if it does.
	down time.Time
	// hinted: the hint stream is open; everHinted: it was, and a hint came or
	// could have. noHints is why the runtime has none.
	hinted, everHinted bool
	hints              int
	noHints            error
	// gaps are how often the stream broke.
	gaps int
}

var _ pleg.Observer = (*plegMeter)(nil)

// plegNote is a line about the runtime. err is set if it has no events.
type plegNote struct {
	at   time.Time
	text string
	err  error
}

func newPLEGMeter(now func() time.Time) *plegMeter {
	return &plegMeter{now: now, ready: make(chan struct{}, 1)}
}

// take returns the notes that wait.
func (m *plegMeter) take() []plegNote {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes
	m.notes = nil
	return notes
}

// note is called with the lock held.
func (m *plegMeter) note(err error, format string, args ...any) {
	m.notes = append(m.notes, plegNote{at: m.now(), text: fmt.Sprintf(format, args...), err: err})
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// Relisted notes that the runtime has gone, or is back.
func (m *plegMeter) Relisted(took, _ time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastErr = err
	switch {
	case err != nil && m.down.IsZero():
		m.down = m.now()
		m.note(nil, "the runtime is down: %v", err)
	case err == nil:
		m.relists.add(took)
		if !m.down.IsZero() {
			m.note(nil, "the runtime is up again after %s", ageText(m.now().Sub(m.down)))
			m.down = time.Time{}
		}
	}
}

// HintStream notes that a runtime has no events. One whose stream broke is
// asked again soon, and relists catch up: that takes no line.
func (m *plegMeter) HintStream(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.hinted, m.everHinted, m.noHints = true, true, nil
	case errors.Is(err, errors.ErrUnsupported):
		if m.noHints == nil && !errors.Is(err, errNotAsked) {
			m.note(err, "relists only: %v", err)
		}
		m.hinted, m.everHinted, m.noHints = false, m.hints > 0, err // it opens for a moment
	default:
		if m.hinted {
			m.gaps++
		}
		m.hinted = false
	}
}

// failure is why the last relist failed, nil if it did not.
func (m *plegMeter) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastErr
}

// state is how many relists were answered, and whether it is known if there
// are hints.
func (m *plegMeter) state() (relists int, hintsKnown bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.relists.n, m.hinted || m.noHints != nil
}

// breaks is how often the hint stream broke.
func (m *plegMeter) breaks() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.gaps
}

// fill takes the numbers over into a report.
func (m *plegMeter) fill(r *checkReport) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Samples = m.relists.n
	r.RelistP50, r.RelistP95, r.RelistMax = m.relists.percentile(50).Seconds(), m.relists.percentile(95).Seconds(), m.relists.longest.Seconds()
	switch {
	case m.noHints != nil:
		r.Hints, r.NoHints = hintsNone, m.noHints.Error()
	case m.hinted:
		r.Hints = hintsBroadcast
	default:
		r.Hints = hintsUnknown
	}
}

// Hinted counts the hints.
func (m *plegMeter) Hinted(time.Duration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hints++
}

// PodRelisted is of no interest here.
func (*plegMeter) PodRelisted(pleg.Source, time.Duration, bool, error) {}

// StatusRead is of no interest here.
func (*plegMeter) StatusRead(time.Duration, error) {}
