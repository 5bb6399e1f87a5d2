package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Observer is told what happens, one call at a time and in order, after the
// states have changed and without any lock held: it may ask Workers, and also
// give them events, but should return soon, since the caller that caused the
// change waits for it.
type Observer interface {
	// PhaseChanged: a pod entered another phase. To is Unknown when it was
	// forgotten.
	PhaseChanged(PhaseChange)
	// OperationStarted: an operation was given to the pod's goroutine.
	OperationStarted(Operation)
	// OperationDone: it ended; Took and Err are set now.
	OperationDone(Operation)
}

// PhaseChange is a pod's step from one phase to the next.
type PhaseChange struct {
	From, To Phase
	At       time.Time
	// State is the pod after the step; of a pod forgotten, before it.
	State State
}

// Operation is one call of Ops.
type Operation struct {
	UID             types.UID
	Namespace, Name string
	Op              Op
	// Type is why the update came that it carries out.
	Type UpdateType
	// Grace is the grace period in seconds given to Terminate, 0 if absent.
	Grace int64
	// At is when it was started.
	At time.Time
	// Took is how long it was, and Err how it ended.
	Took time.Duration
	Err  error
}

// notes hands over to the log and the Observer what happened under the
// worker's mutex, in that order, once the mutex is free. The first caller
// delivers for all.
type notes struct {
	log      *slog.Logger
	observer Observer

	mu         sync.Mutex
	queue      []func()
	delivering bool
}

func (n *notes) add(note func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, note)
}

// deliver hands over what there is, unless another call is at it.
func (n *notes) deliver() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.delivering {
		return
	}
	n.delivering = true
	for len(n.queue) > 0 {
		note := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		note()
		n.mu.Lock()
	}
	n.delivering = false
}

func (n *notes) phase(before, after State, at time.Time) {
	if before.Phase == after.Phase {
		return
	}
	c := PhaseChange{From: before.Phase, To: after.Phase, At: at, State: after}
	if after.Phase == Unknown {
		c.State = before
	}
	n.add(func() {
		attrs := append(identity(c.State), slog.String("phase", c.To.String()))
		if c.State.Cause != CauseNone {
			attrs = append(attrs, slog.String("cause", c.State.Cause.String()))
		}
		if c.State.Grace != 0 {
			attrs = append(attrs, slog.Int64("grace", c.State.Grace))
		}
		n.log.LogAttrs(context.Background(), slog.LevelInfo, "pod phase", attrs...)
		if n.observer != nil {
			n.observer.PhaseChanged(c)
		}
	})
}

func (n *notes) started(s State, e Start) {
	if n.observer == nil {
		return
	}
	o := operation(s, e)
	n.add(func() { n.observer.OperationStarted(o) })
}

func (n *notes) done(s State, e Start, began time.Time, took time.Duration, err error) {
	o := operation(s, e)
	o.At, o.Took, o.Err = began, took, err
	n.add(func() {
		if err != nil && !errors.Is(err, context.Canceled) {
			n.log.LogAttrs(context.Background(), slog.LevelWarn, "pod operation",
				append(identity(s), slog.String("op", o.Op.String()), slog.Duration("took", took), slog.Any("err", err))...)
		}
		if n.observer != nil {
			n.observer.OperationDone(o)
		}
	})
}

func operation(s State, e Start) Operation {
	o := Operation{UID: s.UID, Namespace: s.Namespace, Name: s.Name, Op: e.Op, Type: e.Work.Type, At: s.RunningSince}
	if e.Op == OpTerminate {
		o.Grace = e.Work.Grace
	}
	return o
}

func identity(s State) []slog.Attr {
	return []slog.Attr{slog.String("pod", s.Namespace+"/"+s.Name), slog.String("uid", string(s.UID))}
}
