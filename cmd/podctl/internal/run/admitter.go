package run

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/pod"
)

// admitter applies the objects of all sources of an agent to the pods of all sources. What is read
// later, or in another source, counts as if it had been there first; a pod that is not
// admitted any more stays as it was.
type admitter struct {
	sources map[string]*admittedSource
	// last are the pods as they were admitted last, by UID.
	last map[types.UID]*manifest.Pod
	// said are the findings that were reported and still hold.
	said map[string]bool
}

// admittedSource is a source and what was admitted of it.
type admittedSource struct {
	update source.Update
	pods   []*manifest.Pod
	// denied: a pod of it is not admitted.
	denied bool
	// stale: the node does not know pods and denied yet.
	stale bool
}

func newAdmitter() *admitter {
	return &admitter{sources: map[string]*admittedSource{}, last: map[types.UID]*manifest.Pod{}, said: map[string]bool{}}
}

// update replaces what a source wants.
func (a *admitter) update(name string, u source.Update) {
	if a.sources[name] == nil {
		a.sources[name] = &admittedSource{}
	}
	a.sources[name].update = u
}

// run admits all pods, and returns what is new to say. As long as not all sources were read
// nothing is said, as what is missing may come. strict denies what is worth a warning.
func (a *admitter) run(strict, complete bool) []source.Notice {
	var each []*pod.Objects
	names := slices.Sorted(maps.Keys(a.sources))
	for _, name := range names {
		each = append(each, a.sources[name].update.Objects)
	}
	objects := pod.Merge(each...)
	var notices []source.Notice
	said, last := map[string]bool{}, map[types.UID]*manifest.Pod{}
	for _, name := range names {
		s := a.sources[name]
		var pods []*manifest.Pod
		denied := false
		for _, p := range s.update.Pods {
			admitted, findings := manifest.Admit(p, objects)
			deny := false
			for _, f := range findings {
				n := source.Notice{Level: source.Warning, Problem: f.Problem}
				if f.Verdict == manifest.Deny || strict && f.Verdict == manifest.Warn {
					deny, n.Level = true, source.Failed
				}
				text := f.String()
				if complete && !a.said[text] && !said[text] {
					notices = append(notices, n)
				}
				said[text] = true
			}
			if before := a.last[p.UID]; deny || before != nil && string(before.Document) == string(admitted.Document) {
				admitted = before // nil if it never was admitted
			}
			if denied = denied || deny; admitted != nil {
				pods, last[p.UID] = append(pods, admitted), admitted
			}
		}
		s.stale = s.stale || denied != s.denied || !slices.Equal(pods, s.pods)
		s.pods, s.denied = pods, denied
	}
	a.last = last
	if complete {
		a.said = said
	}
	return notices
}

// changed returns the names of the sources that the node does not know as they are now, and
// takes them for known.
func (a *admitter) changed() []string {
	var names []string
	for name, s := range a.sources {
		if s.stale {
			names, s.stale = append(names, name), false
		}
	}
	slices.Sort(names)
	return names
}
