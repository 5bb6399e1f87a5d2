package secret

import (
	"index/suffixarray"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Placeholder stands for the value of a Secret.
const Placeholder = "***"

const (
	// shortest is the least length, in bytes, of a value that is masked wherever it
	// stands: a shorter one is a part of too much else.
	shortest = 6
	// shortestLine is the same of one line of a value of several: a script or a
	// configuration has lines of common words.
	shortestLine = 8
)

// Mask replaces values in texts; nil replaces none. It is not changed once it is made.
type Mask struct {
	// seen are the values that the mask was made of, masked or not.
	seen map[string]bool
	// forms are sorted. Of those that a text begins with, each begins the next.
	forms []string
	// shorter is for each form the longest of the others that it begins with, -1 if
	// there is none.
	shorter []int
	// begin has the bytes that forms begin with.
	begin [256]bool
}

// With returns a mask that masks further values, m itself if it has all of them. It masks
// them as they are, and as a path, a quoted text or one line of several shows them. What
// open contains, a manifest for instance, is not masked; nil is no text.
func (m *Mask) With(values [][]byte, open func() []byte) *Mask {
	if len(values) == 0 {
		return m
	}
	next := &Mask{seen: map[string]bool{}}
	if m != nil {
		next.seen, next.forms = maps.Clone(m.seen), m.forms
	}
	var index *suffixarray.Index
	isOpen := func(form string) bool { return index != nil && len(index.Lookup([]byte(form), 1)) > 0 }
	forms := map[string]bool{}
	for _, value := range values {
		v := string(value)
		if next.seen[v] {
			continue
		}
		if index == nil && open != nil {
			index = suffixarray.New(open())
		}
		if next.seen[v] = true; isOpen(v) {
			continue
		}
		for form, least := range formsOf(v) {
			if len(form) >= least && strings.TrimSpace(form) != "" && !forms[form] && !isOpen(form) {
				forms[form] = true
			}
		}
	}
	if m != nil && len(next.seen) == len(m.seen) {
		return m
	}
	next.setForms(append(slices.Collect(maps.Keys(forms)), next.forms...))
	return next
}

// formsOf returns the forms in which a value is masked, each with its least length.
func formsOf(value string) func(yield func(form string, least int) bool) {
	return func(yield func(string, int) bool) {
		quoted, clean := strconv.Quote(value), filepath.Clean(value)
		for _, form := range []string{value, strings.TrimSpace(value), quoted[1 : len(quoted)-1], clean, strings.Trim(clean, "/")} {
			if !yield(form, shortest) {
				return
			}
		}
		for line := range strings.SplitSeq(value, "\n") {
			if !yield(line, shortestLine) {
				return
			}
		}
	}
}

// setForms sets the forms, which are not empty.
func (m *Mask) setForms(forms []string) {
	slices.Sort(forms)
	m.forms = slices.Compact(forms)
	m.shorter = make([]int, len(m.forms))
	for i, form := range m.forms {
		m.begin[form[0]] = true
		at := i - 1
		for at >= 0 && !strings.HasPrefix(form, m.forms[at]) {
			at = m.shorter[at]
		}
		m.shorter[i] = at
	}
}

// longest returns the length of the longest form that the text begins with, 0 if it
// begins with none.
func (m *Mask) longest(s string) int {
	if !m.begin[s[0]] {
		return 0
	}
	at := sort.Search(len(m.forms), func(i int) bool { return m.forms[i] > s }) - 1
	if at < 0 {
		return 0
	}
	// What stands between a beginning of the text and the text begins with it, too.
	same := 0
	for same < min(len(m.forms[at]), len(s)) && m.forms[at][same] == s[same] {
		same++
	}
	for at >= 0 && len(m.forms[at]) > same {
		at = m.shorter[at]
	}
	if at < 0 {
		return 0
	}
	return len(m.forms[at])
}

// Text returns the text with a placeholder for the values in it. Values that overlap or
// touch are one.
func (m *Mask) Text(s string) string {
	if m == nil {
		return s
	}
	var out strings.Builder
	masked := -1 // up to where the text is written or masked
	for at := range len(s) {
		n := m.longest(s[at:])
		if n > 0 && at > masked {
			out.WriteString(s[max(masked, 0):at])
			out.WriteString(Placeholder)
		}
		if n > 0 {
			masked = max(masked, at+n)
		}
	}
	if masked < 0 {
		return s
	}
	out.WriteString(s[masked:])
	return out.String()
}

// Brief returns the text masked, then cut to a limit in bytes: a part of a value is not
// found.
func (m *Mask) Brief(s string, limit int) string {
	s = m.Text(s)
	return s[:min(len(s), limit)]
}

// Error returns the error with its text masked. It is still what it was to errors.Is and
// errors.As.
func (m *Mask) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); m.Text(text) != text {
		return &maskedError{err, m.Text(text)}
	}
	return err
}

type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
