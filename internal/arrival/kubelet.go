package arrival

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
)

// askNear asks the kubelet that uses the runtime for its pods. What a part of them
// requests says nothing about what is free.
func askNear(ctx context.Context, near *kubelet.Near) desired.Answer {
	a, working := desired.Near(ctx, near)
	if a.Err != nil {
		return a
	}
	if err := near.Complete(working, a.Pods); err != nil {
		a.Pods, a.Err = nil, &IncompleteError{Kubelet: a.Source, Cause: err}
	}
	return a
}

// IncompleteError: the kubelet may not name all of its pods yet.
type IncompleteError struct {
	Kubelet string
	Cause   error
}

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("%s may not name all of its pods: %v", e.Kubelet, e.Cause)
}

func (e *IncompleteError) Unwrap() error { return e.Cause }

// Hint names other sources.
func (*IncompleteError) Hint() string { return nameSources }

// StoppedKubeletError: a kubelet created pods that run, and none uses the runtime
// now. What they request is known to no one.
type StoppedKubeletError struct{ Pods int }

func (e *StoppedKubeletError) Error() string {
	return fmt.Sprintf("what is requested on this node is not known: a kubelet created %d of the running pods, and none uses this runtime now", e.Pods)
}

// Hint names other sources.
func (*StoppedKubeletError) Hint() string { return "start the kubelet, or " + nameSources }

const nameSources = "name the pods on the node: --node-pods FILE, or --kubeconfig FILE with --node"
