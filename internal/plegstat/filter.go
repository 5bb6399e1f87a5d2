package plegstat

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// Filter selects events. The zero value selects all.
type Filter struct {
	Namespace string
	Pods      []string // names, or namespace/name
	Types     []pleg.EventType
	Selector  labels.Selector // of the sandbox's labels; nil for any
}

// Matches reports whether the filter selects an event. A pod without a sandbox
// has no labels.
func (f Filter) Matches(ev pleg.Event) bool {
	switch {
	case f.Namespace != "" && ev.Namespace != f.Namespace:
		return false
	case len(f.Pods) > 0 && !slices.Contains(f.Pods, ev.Name) && !slices.Contains(f.Pods, pod.DisplayName(ev.Namespace, ev.Name)):
		return false
	case len(f.Types) > 0 && !slices.Contains(f.Types, ev.Type):
		return false
	case f.Selector != nil:
		return f.Selector.Matches(labels.Set(ev.Pod.SandboxLabels()))
	}
	return true
}
