package podsync

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Starts orders the starts of pods.
type Starts interface {
	// Enter waits until the pod may create and start in the runtime, or until ctx
	// ends. leave lets others do so and may be called twice.
	Enter(ctx context.Context, p *v1.Pod) (leave func(), err error)
}

// takeTurn waits for the pod's turn, if it does not have it.
func (r *run) takeTurn(ctx context.Context) error {
	if r.leave != nil || r.opt.Starts == nil {
		return nil
	}
	leave, err := r.opt.Starts.Enter(ctx, r.p)
	if err != nil {
		return err
	}
	r.leave = leave
	return nil
}

// endTurn lets other pods start: before anything that may take long without the
// runtime having much to do, and at the end of the sync.
func (r *run) endTurn() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}
