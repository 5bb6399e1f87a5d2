package node

import (
	"sync/atomic"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod/event"
)

// runtimeWatch reports when the runtime stops answering and when it is back, and
// passes all on to the next observer, nil if there is none.
type runtimeWatch struct {
	n    *Node
	next pleg.Observer
	down atomic.Bool
}

var _ pleg.Observer = (*runtimeWatch)(nil)

func (r *runtimeWatch) Relisted(took, interval time.Duration, err error) {
	if r.next != nil {
		r.next.Relisted(took, interval, err)
	}
	switch down := err != nil; {
	case down && !r.down.Swap(true):
		r.n.events.sendRuntime(event.Event{Reason: event.RuntimeDown, Warning: true, Failure: &event.Failure{Layer: event.LayerRuntime, Text: err.Error()}})
	case !down && r.down.Swap(false):
		r.n.events.sendRuntime(event.Event{Reason: event.RuntimeUp})
	}
}

func (r *runtimeWatch) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	if r.next != nil {
		r.next.PodRelisted(source, took, changed, err)
	}
}

func (r *runtimeWatch) StatusRead(took time.Duration, err error) {
	if r.next != nil {
		r.next.StatusRead(took, err)
	}
}

func (r *runtimeWatch) Hinted(latency time.Duration, backlog bool) {
	if r.next != nil {
		r.next.Hinted(latency, backlog)
	}
}

func (r *runtimeWatch) HintStream(err error) {
	if r.next != nil {
		r.next.HintStream(err)
	}
}
