package cri

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// made says of a sandbox or container what tells it from its pod's others: its
// name ("" of sandboxes), attempt, time of creation and id.
type made struct {
	name    string
	attempt uint32
	created time.Time
	id      string
}

// newestFirst sorts what one pod has in the runtime. Of one name the order is
// that of the attempts, which never go back, as a clock does that is set: the
// last run has to be known for the last. Of different names it is that of the
// times of creation.
func newestFirst[T any](all []T, of func(T) made) {
	slices.SortFunc(all, func(x, y T) int {
		a, b := of(x), of(y)
		return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.attempt, a.attempt), strings.Compare(a.id, b.id))
	})
	byName := map[string][]T{}
	for _, x := range all {
		byName[of(x).name] = append(byName[of(x).name], x)
	}
	for _, runs := range byName {
		slices.SortStableFunc(runs, func(x, y T) int { return cmp.Compare(of(y).attempt, of(x).attempt) })
	}
	for i, x := range all {
		name := of(x).name
		all[i], byName[name] = byName[name][0], byName[name][1:]
	}
}
