package journal

import (
	"slices"
	"time"
)

// Series is an event that happened once or several times: of one object, with one
// reason and text. Pure.
type Series struct {
	// Entry is the last one.
	Entry
	First time.Time
	Count int
}

// key is what makes entries one series.
type key struct{ namespace, name, uid, container, reason, text string }

func keyOf(e *Entry) key {
	return key{e.Namespace, e.Name, string(e.UID), e.Container, e.Reason, e.Text()}
}

// GroupBySeries puts entries, which are sorted by time, together to series, sorted by the
// time of the last entry.
func GroupBySeries(entries []Entry) []Series {
	index := map[key]int{}
	var all []Series
	for _, e := range entries {
		k := keyOf(&e)
		i, known := index[k]
		if !known {
			i = len(all)
			index[k] = i
			all = append(all, Series{First: e.Time})
		}
		all[i].Entry = e
		all[i].Count++
	}
	slices.SortStableFunc(all, func(a, b Series) int { return a.Time.Compare(b.Time) })
	return all
}
