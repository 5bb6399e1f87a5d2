package sources

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Answer is the answer of one source: the pods that it desires on this node.
type Answer struct {
	// Source is the name of the source: "kubelet http://127.0.0.1:10255".
	Source string
	// Pods are all desired pods, in the order of the source.
	Pods []*v1.Pod
	// ByName: the pods' UIDs are not those in the runtime; only full names can be
	// compared.
	ByName bool
	// MadeUp are UIDs that podctl generated for manifests without one: only pods
	// that podctl created have them.
	MadeUp map[types.UID]bool
	// Err is why the source could not be read; Pods is then empty.
	Err error
}
