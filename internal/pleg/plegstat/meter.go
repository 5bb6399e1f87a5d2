package plegstat

import (
	"errors"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// Meter observes a PLEG. It keeps the numbers, and notes about the runtime
// until they are taken.
type Meter struct {
	// Next receives all that the meter receives; nil for none. It is set before the PLEG starts.
	Next  pleg.Observer
	now   func() time.Time
	ready chan struct{}

	mu    sync.Mutex
	notes []Note
	// relists are the list calls of the full relists that succeeded.
	relists durations
	// lastErr is the error of the last relist, nil if it succeeded.
	lastErr error
	// down is since when relists have failed, zero if they do not.
	down time.Time
	// hinted: the hint stream is open; everHinted: it was, and a hint came or
	// could have. noHints is why the runtime has none.
	hinted, everHinted bool
	hints              int
	noHints            error
	// gaps counts the interruptions of the stream.
	gaps int
}

var _ pleg.Observer = (*Meter)(nil)

// NoteKind is what a note reports.
type NoteKind uint8

// The kinds of notes.
const (
	RuntimeDown NoteKind = iota + 1 // relists fail; Err is why
	RuntimeUp                       // relists succeed again; Took is how long they failed
	NoHints                         // the runtime has no events; Err is why
)

// Note is a change of the runtime's state.
type Note struct {
	At   time.Time
	Kind NoteKind
	Err  error
	Took time.Duration
}

// HintState is what is known about the runtime's events.
type HintState string

// The states of the runtime's events.
const (
	HintsUnknown   HintState = "unknown"   // the runtime has not answered yet
	HintsBroadcast HintState = "broadcast" // every subscriber receives them
	HintsNone      HintState = "none"      // there are none
)

// NewMeter returns a meter.
func NewMeter(now func() time.Time) *Meter {
	return &Meter{now: now, ready: make(chan struct{}, 1)}
}

// Ready has a value when there may be notes to take.
func (m *Meter) Ready() <-chan struct{} { return m.ready }

// Take returns the notes since the last call.
func (m *Meter) Take() []Note {
	m.mu.Lock()
	defer m.mu.Unlock()
	notes := m.notes
	m.notes = nil
	return notes
}

// note is called with the lock held.
func (m *Meter) note(n Note) {
	n.At = m.now()
	m.notes = append(m.notes, n)
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// Relisted implements pleg.Observer. It notes that the runtime fails or has
// recovered.
func (m *Meter) Relisted(took, interval time.Duration, err error) {
	if m.Next != nil {
		m.Next.Relisted(took, interval, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastErr = err
	switch {
	case err != nil && m.down.IsZero():
		m.down = m.now()
		m.note(Note{Kind: RuntimeDown, Err: err})
	case err == nil:
		m.relists.add(took)
		if !m.down.IsZero() {
			m.note(Note{Kind: RuntimeUp, Took: m.now().Sub(m.down)})
			m.down = time.Time{}
		}
	}
}

// HintStream implements pleg.Observer. It notes that a runtime has no events.
// An interrupted stream is opened again soon, and relists catch up: that is
// counted only.
func (m *Meter) HintStream(err error) {
	if m.Next != nil {
		m.Next.HintStream(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil:
		m.hinted, m.everHinted, m.noHints = true, true, nil
	case errors.Is(err, errors.ErrUnsupported):
		if m.noHints == nil {
			m.note(Note{Kind: NoHints, Err: err})
		}
		m.hinted, m.everHinted, m.noHints = false, m.hints > 0, err // it opens for a moment
	default:
		if m.hinted {
			m.gaps++
		}
		m.hinted = false
	}
}

// Hinted implements pleg.Observer.
func (m *Meter) Hinted(latency time.Duration, backlog bool) {
	if m.Next != nil {
		m.Next.Hinted(latency, backlog)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hints++
}

// PodRelisted implements pleg.Observer.
func (m *Meter) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	if m.Next != nil {
		m.Next.PodRelisted(source, took, changed, err)
	}
}

// StatusRead implements pleg.Observer; it is unused.
func (*Meter) StatusRead(time.Duration, error) {}

// Failure returns the error of the last relist, nil if it succeeded.
func (m *Meter) Failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastErr
}

// Relists returns how many full relists succeeded.
func (m *Meter) Relists() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.relists.n
}

// Hints returns the state of the runtime's events; the error is why there are none.
func (m *Meter) Hints() (HintState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.noHints != nil:
		return HintsNone, m.noHints
	case m.hinted:
		return HintsBroadcast, nil
	}
	return HintsUnknown, nil
}
