package view

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Filter selects pods. The zero value selects all of them.
type Filter struct {
	Namespace string
	// Names are names or NAMESPACE/NAME, with * and ?, or whole UIDs and ids of sandboxes.
	Names    []string
	Selector labels.Selector // of the sandbox's labels; nil is any
	// Owner is a podctl instance or a Kind.
	Owner string
	// Terminating and Abandoned select only such pods.
	Terminating, Abandoned bool
	// resolved has the pods that each of Names selects.
	resolved map[string]map[*Pod]bool
}

// Selects reports whether the filter selects the pod.
func (f Filter) Selects(p *Pod) bool {
	switch {
	case f.Namespace != "" && p.Namespace != f.Namespace:
		return false
	case len(f.Names) > 0 && !slices.ContainsFunc(f.Names, func(word string) bool { return f.resolved[word][p] }):
		return false
	case f.Selector != nil && !f.Selector.Matches(labels.Set(p.SandboxLabels())):
		return false
	case f.Owner != "" && f.Owner != string(p.Kind()) && f.Owner != p.Creator && (!p.Managed() || f.Owner != p.Manager.Name):
		return false
	case f.Terminating && !p.Terminating(), f.Abandoned && !p.Abandoned():
		return false
	}
	return true
}

// Resolve returns the filter with its Names resolved among all pods; an unresolved filter selects
// no pod by name. A name takes precedence over a pattern, and a pattern over a UID or id, so that
// the name of a pod never selects another pod.
func (f Filter) Resolve(all []*Pod) Filter {
	f.resolved = map[string]map[*Pod]bool{}
	for _, word := range f.Names {
		f.resolved[word] = resolve(all, word)
	}
	return f
}

// resolve returns the pods that a word selects.
func resolve(all []*Pod, word string) map[*Pod]bool {
	for _, matches := range [...]func(*Pod) bool{
		func(p *Pod) bool { return p.named(word) == word },
		func(p *Pod) bool { match, err := path.Match(word, p.named(word)); return match && err == nil },
		func(p *Pod) bool { return word != "" && (word == string(p.UID) || word == p.SandboxID()) },
	} {
		found := map[*Pod]bool{}
		for _, p := range all {
			if matches(p) {
				found[p] = true
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// named returns the pod's name, with its namespace if the word has a namespace.
func (p *Pod) named(word string) string {
	if strings.Contains(word, "/") {
		return p.Namespace + "/" + p.Name
	}
	return p.Name
}

// Unmatched returns the Names that select none of the pods; the filter must be resolved.
func (f Filter) Unmatched(pods []*Pod) []string {
	return slices.DeleteFunc(slices.Clone(f.Names), func(word string) bool {
		return slices.ContainsFunc(pods, func(p *Pod) bool { return f.resolved[word][p] })
	})
}
