package source

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

// Admitter admits the pods of all sources of an agent with the objects of all sources, whatever the
// order in which they are read. A pod that is no longer admitted stays as it was.
type Admitter struct {
	sources map[string]*admittedSource
	// admitted are the pods as last admitted, by UID.
	admitted map[types.UID]*manifest.Pod
	// reported are the texts of the findings that were reported and still apply.
	reported map[string]bool
}

// admittedSource is a source and its admitted pods.
type admittedSource struct {
	update Update
	pods   []*manifest.Pod
	// denied: a pod of the source was denied.
	denied bool
	// stale: pods or denied changed since TakeStale.
	stale bool
}

// NewAdmitter returns an admitter without sources.
func NewAdmitter() *Admitter {
	return &Admitter{sources: map[string]*admittedSource{}, admitted: map[types.UID]*manifest.Pod{}, reported: map[string]bool{}}
}

// SetSource replaces the update of a source, or adds the source.
func (a *Admitter) SetSource(name string, u Update) {
	if a.sources[name] == nil {
		a.sources[name] = &admittedSource{}
	}
	a.sources[name].update = u
}

// AdmitAll admits the pods of all sources and returns notices of new findings: none until complete,
// when all sources were read, because an object may still come. strict turns warnings into denials.
func (a *Admitter) AdmitAll(strict, complete bool) []Notice {
	var each []*pod.Objects
	names := slices.Sorted(maps.Keys(a.sources))
	for _, name := range names {
		each = append(each, a.sources[name].update.Objects)
	}
	objects := pod.Merge(each...)
	var notices []Notice
	said, last := map[string]bool{}, map[types.UID]*manifest.Pod{}
	for _, name := range names {
		s := a.sources[name]
		var pods []*manifest.Pod
		denied := false
		for _, p := range s.update.Pods {
			admitted, findings := manifest.Admit(p, objects)
			deny := false
			for _, f := range findings {
				n := Notice{Level: Warning, Problem: f.Problem}
				if f.Verdict == manifest.Deny || strict && f.Verdict == manifest.Warn {
					deny, n.Level = true, Failed
				}
				text := f.String()
				if complete && !a.reported[text] && !said[text] {
					notices = append(notices, n)
				}
				said[text] = true
			}
			if before := a.admitted[p.UID]; deny || before != nil && runsAlike(before, admitted) {
				admitted = before // nil if it never was admitted
			}
			if denied = denied || deny; admitted != nil {
				pods, last[p.UID] = append(pods, admitted), admitted
			}
		}
		s.stale = s.stale || denied != s.denied || !slices.Equal(pods, s.pods)
		s.pods, s.denied = pods, denied
	}
	a.admitted = last
	if complete {
		a.reported = said
	}
	return notices
}

// runsAlike reports whether two pods of one UID are the same to the node. What a Job or CronJob may change
// while it runs is not in the Document.
func runsAlike(a, b *manifest.Pod) bool {
	return string(a.Document) == string(b.Document) && a.Workload == b.Workload && equality.Semantic.DeepEqual(a.Job, b.Job)
}

// TakeStale returns the names of the stale sources and marks them as not stale.
func (a *Admitter) TakeStale() []string {
	var names []string
	for name, s := range a.sources {
		if s.stale {
			names, s.stale = append(names, name), false
		}
	}
	slices.Sort(names)
	return names
}

// Admitted returns the pods of a source as last admitted, and its objects. partly: there may be more
// pods, of which a part was not read or denied.
func (a *Admitter) Admitted(name string) (pods []*manifest.Pod, objects *pod.Objects, partly bool) {
	s := a.sources[name]
	return s.pods, s.update.Objects, s.update.Partial || s.denied
}
