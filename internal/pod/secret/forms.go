package secret

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

const (
	// maxForm bounds a form, in bytes, so that comparing one takes constant time.
	maxForm = 32
	// minForm is the least length of a form: that of what begins is known by.
	minForm = 4
)

// forms are texts that are looked for all at once. The zero value has none.
type forms struct {
	// sorted are the forms. Of those that a text begins with, each begins the next.
	sorted []string
	// shorter is for each form the longest of the others that it begins with, -1 if
	// there is none.
	shorter []int
	// begins has a bit for the hash of the first minForm bytes of each form.
	begins []uint64
	shift  int
}

// with returns the forms and others, none of which is shorter than minForm.
func (f forms) with(others map[string]bool) forms {
	if len(others) == 0 {
		return f
	}
	sorted := slices.Concat(f.sorted, slices.Collect(maps.Keys(others)))
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	next := forms{sorted: sorted, shorter: make([]int, len(sorted)), shift: 32 - 10}
	for ; 1<<(32-next.shift) < 16*len(sorted) && next.shift > 8; next.shift-- {
	}
	next.begins = make([]uint64, 1<<(32-next.shift)/64)
	for i, form := range sorted {
		h := next.hash(form)
		next.begins[h/64] |= 1 << (h % 64)
		at := i - 1
		for at >= 0 && !strings.HasPrefix(form, sorted[at]) {
			at = next.shorter[at]
		}
		next.shorter[i] = at
	}
	return next
}

// hash returns the bit of begins of a text of minForm bytes or more.
func (f *forms) hash(s string) uint32 {
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) * 0x9E3779B1 >> f.shift
}

// longest returns the length of the longest form that the text begins with, 0 if it
// begins with none.
func (f *forms) longest(s string) int {
	if len(s) < minForm || f.begins == nil {
		return 0
	}
	if h := f.hash(s); f.begins[h/64]>>(h%64)&1 == 0 {
		return 0
	}
	s = s[:min(len(s), maxForm)]
	at := sort.Search(len(f.sorted), func(i int) bool { return f.sorted[i] > s }) - 1
	if at < 0 {
		return 0
	}
	// What stands between a beginning of the text and the text begins with it, too.
	same := 0
	for same < min(len(f.sorted[at]), len(s)) && f.sorted[at][same] == s[same] {
		same++
	}
	for at >= 0 && len(f.sorted[at]) > same {
		at = f.shorter[at]
	}
	if at < 0 {
		return 0
	}
	return len(f.sorted[at])
}

// in returns where forms are in the text; those that overlap or touch are one span.
func (f *forms) in(text string) (found []span) {
	if f.begins == nil {
		return nil
	}
	for at := range len(text) {
		n := f.longest(text[at:])
		switch last := len(found) - 1; {
		case n == 0:
		case last >= 0 && at <= found[last].to:
			found[last].to = max(found[last].to, at+n)
		default:
			found = append(found, span{at, at + n})
		}
	}
	return found
}
