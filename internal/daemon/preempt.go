package daemon

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/node"
)

// NodeObject implements control.Host.
func (h nodeHost) NodeObject() *v1.Node {
	return &v1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: h.Name()},
		Status:     v1.NodeStatus{Allocatable: h.Allocatable()},
	}
}

// Preempt implements control.Host.
func (h nodeHost) Preempt(ctx context.Context, namespace, name string) error {
	err := h.Evict(ctx, namespace, name, event.Eviction{Cause: event.Preempted})
	if _, waits := errors.AsType[*node.NotRunningError](err); waits {
		return absentError{err} // another podctl may run its twin
	}
	return absent(err)
}
