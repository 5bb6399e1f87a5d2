package manifest

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/xrash/smetrics"
)

// level is a place on the way to an unknown field: a type and where it is.
type level struct {
	t  reflect.Type
	at path
}

const (
	// maxSuggestedName is the longest name that suggestions are sought for.
	maxSuggestedName = 64
	// searchDepth is how many fields deep a misplaced field is looked for.
	searchDepth = 3
)

// suggestField finds what an unknown field was meant to be: first a near name at
// the same level, then the same or nearly the same name at a deeper level,
// then the same from each level above, the nearest first. It returns how to
// print it, and whether it is at the same level; "" if nothing is near.
func suggestField(name string, levels []level) (text string, here bool) {
	if len(name) > maxSuggestedName {
		return "", false
	}
	own := levels[len(levels)-1]
	if near := nearest(name, own.t); near != "" {
		return near, true
	}
	for slack := range 2 {
		for i, level := range slices.Backward(levels) {
			if found := deeper(name, level.t, slack*tolerance(name)/2); found != nil {
				if i < len(levels)-1 {
					found = append(generic(level.at), found...)
				}
				return found.String(), false
			}
		}
	}
	return "", false
}

// nearest returns the known name of a struct type closest to name, "" if none is
// close or t is no struct.
func nearest(name string, t reflect.Type) string {
	best, bestDistance := "", tolerance(name)+1
	for _, f := range fieldsOf(t) {
		d := distance(strings.ToLower(name), strings.ToLower(f.name))
		if len(f.name) > 2 && strings.HasPrefix(name, f.name) {
			d = min(d, tolerance(name)) // environment: env
		}
		if d < bestDistance {
			best, bestDistance = f.name, d
		}
	}
	return best
}

// tolerance returns how many slips of the pen a name of this length may hold.
func tolerance(name string) int { return min(1+len(name)/5, 3) }

// deeper looks, breadth first, for a field below t whose name is within slack
// of name. containers comes before the other lists of containers.
func deeper(name string, t reflect.Type, slack int) path {
	queue := []level{{t: t}}
	seen := map[reflect.Type]bool{}
	for len(queue) > 0 {
		here := queue[0]
		queue = queue[1:]
		if seen[here.t] || len(here.at) > 2*searchDepth {
			continue
		}
		seen[here.t] = true
		for _, f := range fieldsOf(here.t) {
			at := here.at.field(f.name)
			if len(here.at) > 0 && distance(name, f.name) <= slack {
				return at
			}
			next := f.t
			for next.Kind() == reflect.Pointer || next.Kind() == reflect.Slice {
				if next.Kind() == reflect.Slice {
					at = at.anyItem()
				}
				next = next.Elem()
			}
			if f.name == "containers" {
				queue = append([]level{{next, at}}, queue...)
			} else if f.name != "status" && f.name != "managedFields" && !strings.HasSuffix(f.name, "Containers") {
				queue = append(queue, level{next, at})
			}
		}
	}
	return nil
}

// generic returns a path with its indexes left open.
func generic(at path) path {
	open := make(path, len(at))
	for i, s := range at {
		if s.kind == stepIndex {
			s = step{kind: stepAny}
		}
		open[i] = s
	}
	return open
}

// distance returns the Levenshtein distance of two names, except that letters in
// the wrong order cost half: swapped neighbours are one slip, not two.
func distance(a, b string) int {
	total := smetrics.WagnerFischer(a, b, 1, 1, 1)
	letters := otherLetters(a, b)
	return letters + (total-letters+1)/2
}

// otherLetters returns how many letters have to be added, removed or replaced to
// make an anagram of b from a.
func otherLetters(a, b string) int {
	var count [256]int
	for _, c := range []byte(a) {
		count[c]++
	}
	for _, c := range []byte(b) {
		count[c]--
	}
	more, fewer := 0, 0
	for _, n := range count {
		more, fewer = more+max(n, 0), fewer+max(-n, 0)
	}
	return max(more, fewer)
}

// structField is a field of a struct type by its JSON name.
type structField struct {
	name string
	t    reflect.Type
}

var fieldsCache sync.Map // reflect.Type → []structField

// fieldsOf lists the JSON fields of a struct type in their order, those of
// inlined structs among them; nothing for other types and for those that
// decode themselves.
func fieldsOf(t reflect.Type) []structField {
	if t.Kind() != reflect.Struct || decodesItself(t) {
		return nil
	}
	if cached, ok := fieldsCache.Load(t); ok {
		return cached.([]structField)
	}
	var all []structField
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			all = append(all, fieldsOf(f.Type)...)
		case name != "" && name != "-":
			all = append(all, structField{name, f.Type})
		}
	}
	fieldsCache.Store(t, all)
	return all
}
