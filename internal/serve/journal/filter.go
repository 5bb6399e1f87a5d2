package journal

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// The types of events, as Kubernetes has them.
const (
	Normal  = "Normal"
	Warning = "Warning"
)

// Type is Normal or Warning.
func (e *Entry) Type() string {
	if e.Warning {
		return Warning
	}
	return Normal
}

// Filter selects entries. The zero value selects all.
type Filter struct {
	// Query names the pods; one without words is all of its namespace.
	Query target.Query
	// Types are those to select, none for all.
	Types []string
	// Since is the time of the oldest one, zero for all.
	Since time.Time
}

// Select returns the entries that the filter selects. The error is that no entry
// is about a pod of the query.
func (f Filter) Select(entries []Entry) ([]Entry, error) {
	meant, err := f.pods(entries)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, func(e Entry) bool {
		return meant != nil && !meant[e.UID] || e.Time.Before(f.Since) || len(f.Types) > 0 && !slices.Contains(f.Types, e.Type())
	}), nil
}

// pods returns the UIDs of the pods that the query names among those with an entry,
// nil for all.
func (f Filter) pods(entries []Entry) (map[types.UID]bool, error) {
	byUID := map[types.UID]*view.Pod{}
	var all []*view.Pod
	for _, e := range entries {
		if e.Name != "" && byUID[e.UID] == nil {
			byUID[e.UID] = &view.Pod{Metadata: view.Metadata{UID: e.UID, Namespace: e.Namespace, Name: e.Name}}
			all = append(all, byUID[e.UID])
		}
	}
	meant := map[types.UID]bool{}
	if !f.Query.Names() {
		if f.Query.Namespace == "" || f.Query.AllNamespaces {
			return nil, nil
		}
		for _, p := range all {
			if p.Namespace == f.Query.Namespace {
				meant[p.UID] = true
			}
		}
		return meant, nil
	}
	found, err := target.Pods(all, f.Query)
	if missing, ok := errors.AsType[*target.NotFoundError](err); ok && target.OnlyErrors(err, target.IsNoPod) {
		err = noEvents(missing)
	}
	for _, named := range found {
		for _, p := range all { // earlier pods of the name, too
			if p.Namespace == named.Namespace && p.Name == named.Name {
				meant[p.UID] = true
			}
		}
	}
	return meant, err
}

// noEvents returns the error for a pod, which may exist, of which the journal has no event.
func noEvents(missing *target.NotFoundError) error {
	advice := "podctl agent --observe records the events of all pods of the runtime; --root is the directory that has them"
	if len(missing.Elsewhere)+len(missing.Nearest) > 0 {
		advice = missing.Hint()
	}
	return hint.Errorf(advice, "no events of pod %s are recorded", missing.Name)
}

// PodEvents returns the newest events of a pod as describe has them, repeated ones once.
func PodEvents(dir string, uid types.UID, most int) (events []view.Event, err error) {
	entries, err := ReadPod(dir, uid)
	if err != nil {
		return nil, err
	}
	series := GroupBySeries(entries)
	for _, s := range series[max(0, len(series)-most):] {
		events = append(events, view.Event{
			Time: s.Time, Warning: s.Warning, Reason: s.Reason, Container: s.Container, Message: s.Text(),
		})
	}
	return events, nil
}
