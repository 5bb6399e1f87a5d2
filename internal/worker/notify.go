package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Observer observes the workers: one call at a time and in order, after the
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

// notifications passes what happened under the worker's mutex to the log and the
// Observer, in order, once the mutex is free. The first caller delivers for all.
type notifications struct {
	log      *slog.Logger
	observer Observer

	mu         sync.Mutex
	queue      []func()
	delivering bool
}

func (n *notifications) add(note func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, note)
}

// deliver delivers all notifications, unless another call does so already.
func (n *notifications) deliver() {
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

func (n *notifications) phaseChanged(before, after State, at time.Time) {
	if before.Phase == after.Phase {
		return
	}
	c := PhaseChange{From: before.Phase, To: after.Phase, At: at, State: after}
	if after.Phase == Unknown {
		c.State = before
	}
	n.add(func() {
		attrs := append(logAttrs(c.State), slog.String("phase", c.To.String()))
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

func (n *notifications) operationStarted(s State, e Start) {
	if n.observer == nil {
		return
	}
	o := operationOf(s, e)
	n.add(func() { n.observer.OperationStarted(o) })
}

func (n *notifications) operationDone(s State, e Start, began time.Time, took time.Duration, err error) {
	o := operationOf(s, e)
	o.At, o.Took, o.Err = began, took, err
	n.add(func() {
		if err != nil && !errors.Is(err, context.Canceled) {
			n.log.LogAttrs(context.Background(), slog.LevelWarn, "pod operation",
				append(logAttrs(s), slog.String("op", o.Op.String()), slog.Duration("took", took), slog.Any("err", err))...)
		}
		if n.observer != nil {
			n.observer.OperationDone(o)
		}
	})
}

func operationOf(s State, e Start) Operation {
	o := Operation{UID: s.UID, Namespace: s.Namespace, Name: s.Name, Op: e.Op, Type: e.Work.Type, At: s.RunningSince}
	if e.Op == OpTerminate {
		o.Grace = e.Work.Grace
	}
	return o
}

func logAttrs(s State) []slog.Attr {
	return []slog.Attr{slog.String("pod", s.Namespace+"/"+s.Name), slog.String("uid", string(s.UID))}
}
