package secret

import (
	"index/suffixarray"
	"maps"
	"path/filepath"
	"slices"
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
	// maxPiece bounds a text whose forms are looked for at once, in bytes: Text takes ten
	// times its memory. overlap is what a piece has in common with the next one.
	maxPiece, overlap = 1 << 18, 4 << 10
)

// Mask replaces values in texts; nil replaces none. It is not changed once it is made. The
// time and the memory of Text are linear in the text, whatever the values are.
type Mask struct {
	// seen are the values that the mask was made of, masked or not.
	seen map[string]bool
	// plain are the forms that a text has as they are, folded those that it has once it is
	// folded.
	plain, folded forms
}

// With returns a mask that masks further values, m itself if it has all of them. It masks
// them in each form of fold and base64, and as a path or one line of several shows them. Of a
// value longer than maxForm it masks parts of that length, too. What open contains, a manifest
// for instance, is not masked; nil is no text.
func (m *Mask) With(values [][]byte, open func() []byte) *Mask {
	if len(values) == 0 {
		return m
	}
	next := &Mask{seen: map[string]bool{}}
	if m != nil {
		*next = Mask{maps.Clone(m.seen), m.plain, m.folded}
	}
	var index *suffixarray.Index
	plain, folded := map[string]bool{}, map[string]bool{}
	for _, value := range values {
		v := string(value)
		if next.seen[v] {
			continue
		}
		if index == nil && open != nil {
			index = suffixarray.New([]byte(foldOf(string(open()))))
		}
		isOpen := func(folded string) bool { return index != nil && len(index.Lookup([]byte(folded), 1)) > 0 }
		if next.seen[v] = true; foldOf(v) != "" && isOpen(foldOf(v)) {
			continue
		}
		for form, least := range formsOf(v) {
			if len(form) >= least && strings.TrimSpace(form) != "" {
				addForm(plain, form, isOpen)
			}
			bare := strings.TrimRight(foldOf(form), "%&") // they may begin an escape
			if len(bare) < least {
				continue
			}
			addForm(folded, bare, isOpen)
			// The first letter may look like that of an escape: \\new%21 of new!
			if strings.IndexByte(escapes, bare[0]) >= 0 && len(bare) > least && !isPlain(form) {
				addForm(folded, bare[1:], isOpen)
			}
		}
	}
	if m != nil && len(next.seen) == len(m.seen) {
		return m
	}
	next.plain, next.folded = next.plain.with(plain), next.folded.with(folded)
	return next
}

// addForm adds a form, that of a long value in parts, unless it is open.
func addForm(to map[string]bool, form string, isOpen func(folded string) bool) {
	for end := min(maxForm, len(form)); ; end = min(end+maxForm, len(form)) {
		part := form[max(0, end-maxForm):end]
		if !to[part] && !isOpen(foldOf(part)) {
			to[part] = true
		}
		if end == len(form) {
			return
		}
	}
}

// isPlain reports whether no syntax changes the text.
func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e || !isKey(byte(r)) })
}

// formsOf returns the forms in which a value is masked, each with its least length.
func formsOf(value string) func(yield func(form string, least int) bool) {
	return func(yield func(string, int) bool) {
		quoted, clean := strconv.Quote(value), filepath.Clean(value)
		for _, form := range []string{
			value, strings.TrimSpace(value), quoted[1 : len(quoted)-1], clean, strings.Trim(clean, "/"),
			strings.ToValidUTF8(value, "\uFFFD"), strings.ReplaceAll(value, " ", "+"),
		} {
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

// Text returns the text with a placeholder for the values in it. Values that overlap or
// touch are one.
func (m *Mask) Text(s string) string {
	if m == nil || len(m.plain.sorted)+len(m.folded.sorted) == 0 {
		return s
	}
	var found []span
	for at := 0; at < len(s); at += maxPiece {
		piece := s[at:min(len(s), at+maxPiece+overlap)]
		if len(m.find(view{}, piece, 0, nil)) == 0 {
			continue
		}
		for _, f := range m.find(identity(piece), piece, 0, nil) {
			found = append(found, span{at + f.from, at + f.to})
		}
	}
	return replaceSpans(s, found)
}

// span is a range of a text.
type span struct{ from, to int }

// replaceSpans returns the text with a placeholder for the spans.
func replaceSpans(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	done := -1 // up to where the text is written or masked
	for _, f := range spans {
		if f.from > done {
			out.WriteString(s[max(done, 0):f.from])
			out.WriteString(Placeholder)
		}
		done = max(done, f.to)
	}
	out.WriteString(s[done:])
	return out.String()
}

// Brief returns the text masked, then cut to a limit in bytes: a part of a value may not be
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
