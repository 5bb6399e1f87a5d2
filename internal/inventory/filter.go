package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// Filter selects pods. The zero value selects all of them.
type Filter struct {
	Namespace string
	// Names are names or NAMESPACE/NAME, with * and ?.
	Names    []string
	Selector labels.Selector // of the sandbox's labels; nil is any
	// Owner is a podctl instance or a Kind.
	Owner string
	// Terminating and Abandoned select only such pods.
	Terminating, Abandoned bool
}

// Selects reports whether the filter selects the pod.
func (f Filter) Selects(p *Pod) bool {
	switch {
	case f.Namespace != "" && p.Namespace != f.Namespace:
		return false
	case len(f.Names) > 0 && !slices.ContainsFunc(f.Names, p.Matches):
		return false
	case f.Selector != nil && !f.Selector.Matches(labels.Set(p.Labels())):
		return false
	case f.Owner != "" && f.Owner != string(p.Kind()) && f.Owner != p.Creator && (!p.Managed() || f.Owner != p.Manager.Instance()):
		return false
	case f.Terminating && !p.Terminating(), f.Abandoned && !p.Abandoned():
		return false
	}
	return true
}
