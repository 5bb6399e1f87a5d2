package inventory

import (
	"path"
	"slices"
	"strings"

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
	case f.Owner != "" && f.Owner != string(p.Kind()) && f.Owner != p.Creator && (!p.Managed() || f.Owner != p.Manager.Name):
		return false
	case f.Terminating && !p.Terminating(), f.Abandoned && !p.Abandoned():
		return false
	}
	return true
}

// Matches reports whether a pattern with * and ? matches the pod's name, with
// its namespace if the pattern has one.
func (p *Pod) Matches(pattern string) bool {
	name := p.Name
	if strings.Contains(pattern, "/") {
		name = p.Namespace + "/" + p.Name
	}
	match, err := path.Match(pattern, name)
	return match && err == nil
}
