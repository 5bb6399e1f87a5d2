package arrival

import (
	"errors"
	"maps"

	v1 "k8s.io/api/core/v1"
)

// Saved is a Node in a form that can be stored in a file, or why there is none.
type Saved struct {
	Object *v1.Node `json:"object,omitempty"`
	// Untainted: the node is known to have no taints, which JSON does not tell from unknown ones.
	Untainted   bool      `json:"untainted,omitempty"`
	Allocatable string    `json:"allocatable,omitempty"`
	Pods        []*v1.Pod `json:"pods,omitempty"`
	Sources     []Source  `json:"sources,omitempty"`
	Unchecked   []string  `json:"unchecked,omitempty"`
	Err         string    `json:"error,omitempty"`
}

// Save returns what Read returned, to be stored.
func Save(n *Node, err error) Saved {
	if err != nil {
		return Saved{Err: err.Error()}
	}
	return Saved{Object: n.Object, Untainted: n.Object.Spec.Taints != nil && len(n.Object.Spec.Taints) == 0, Allocatable: n.Allocatable, Pods: n.Pods, Sources: n.Sources, Unchecked: n.unchecked}
}

// Node returns the node that was stored, with amounts that replace those that are allocatable on
// it.
func (s Saved) Node(allocatable v1.ResourceList) (*Node, error) {
	if s.Err != "" || s.Object == nil {
		return nil, errors.New(s.Err)
	}
	n := &Node{Object: s.Object.DeepCopy(), Allocatable: s.Allocatable, Pods: s.Pods, Sources: s.Sources, unchecked: s.Unchecked}
	if s.Untainted {
		n.Object.Spec.Taints = []v1.Taint{}
	}
	if s.Allocatable == thisMachine {
		n.Allocatable = "the recorded machine"
	}
	if n.Object.Status.Allocatable == nil {
		n.Object.Status.Allocatable = v1.ResourceList{}
	}
	maps.Copy(n.Object.Status.Allocatable, allocatable)
	return n, nil
}
