package desired

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Answer is what one source says belongs on this node.
type Answer struct {
	// Source is who was asked, for people: "kubelet http://127.0.0.1:10255".
	Source string
	// Pods are all that the source desires, in its order.
	Pods []*v1.Pod
	// ByName: the pods' UIDs are not those that the runtime would show, so
	// that only full names can be compared.
	ByName bool
	// MadeUp are UIDs that podctl gave to pods whose manifest has none: only a
	// pod that podctl created carries one.
	MadeUp map[types.UID]bool
	// Err is why the source could not be read; Pods is then empty.
	Err error
}
