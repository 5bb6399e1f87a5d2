package node

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
)

// retryTimeout is how long Stop and Start wait for the loop to look again at a
// pod that waits.
const retryTimeout = 5 * time.Second

// retryBlocked is the entry of the name. If it is blocked it is tried again first, so
// that an error says what is in the way now; the error is a *NotRunningError if
// something is.
func (n *Node) retryBlocked(ctx context.Context, namespace, name string) (*entry, error) {
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	blocked := err == nil && isBlocked(e)
	uid, tries := types.UID(""), 0
	if blocked {
		uid, tries = e.UID(), e.Wait.Tries
		n.pods.step(uid, lifecycle.Retry{})
	}
	n.pods.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if blocked {
		n.waitForTry(ctx, uid, func(e *entry) bool { return !isBlocked(e) || e.Wait.Tries != tries })
	}
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if e, err = n.pods.named(namespace, name); err != nil {
		return nil, err
	}
	return e, notRunning(e)
}

// admitAgain tries a pod again that was rejected, and reports whether the name is of such a
// pod. The error is a *NotRunningError if it is rejected again, or something else is in
// its way.
func (n *Node) admitAgain(ctx context.Context, namespace, name string) (rejected bool, err error) {
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err != nil || e.Phase != lifecycle.Rejected {
		n.pods.mu.Unlock()
		return false, err
	}
	uid := e.UID()
	n.pods.step(uid, lifecycle.Start{})
	n.pods.mu.Unlock()
	n.waitForTry(ctx, uid, func(e *entry) bool { return e.Phase != lifecycle.Waiting || isBlocked(e) })
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if e = n.pods.get(uid); e == nil {
		return true, nil // it is not desired any more
	}
	return true, notRunning(e)
}

// waitForTry has the loop look at a pod that waits, and returns once it has been tried, or
// after a time.
func (n *Node) waitForTry(ctx context.Context, uid types.UID, tried func(*entry) bool) {
	n.wake.signal()
	timed, cancel := context.WithTimeout(ctx, retryTimeout)
	defer cancel()
	_ = n.watchers.waitUntil(timed, func() bool { // what is known then is said
		n.pods.mu.Lock()
		defer n.pods.mu.Unlock()
		e := n.pods.get(uid)
		return e == nil || e.Phase != lifecycle.Starting && tried(e)
	})
}

func isBlocked(e *entry) bool { return e.Phase == lifecycle.Waiting && e.Wait.Reason.Blocked() }

// notRunning is why a pod does not run and will not by itself, nil if that is
// not so.
func notRunning(e *entry) error {
	switch {
	case e.Phase == lifecycle.Rejected:
		return &NotRunningError{pod.DisplayName(e.Pod.Namespace, e.Pod.Name), e.Rejection}
	case isBlocked(e):
		return &NotRunningError{pod.DisplayName(e.Pod.Namespace, e.Pod.Name), e.Wait.Err}
	}
	return nil
}

// NotRunningError says that a pod does not run here.
type NotRunningError struct {
	Pod   string
	Cause error
}

func (e *NotRunningError) Error() string {
	return fmt.Sprintf("pod %s does not run: %v", e.Pod, e.Cause)
}

func (e *NotRunningError) Unwrap() error { return e.Cause }
