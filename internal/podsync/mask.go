package podsync

import (
	"index/suffixarray"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
)

// Values of Secrets get into messages by expansion: a command that is not
// found, a subPathExpr that leaves its volume. All that podsync hands out,
// events, statuses and errors, has them replaced.

const (
	// maskText stands for the value of a Secret.
	maskText = "***"
	// maskShortest is the length in bytes below which a value is not replaced: it
	// would be found in any text.
	maskShortest = 3
	// maskShortestLine is the same of one line of a value of several: a script or
	// a configuration has lines of common words.
	maskShortestLine = 8
)

// maskedHost masks what a Syncer tells the node.
type maskedHost struct {
	Host
	s *Syncer
}

// Event implements Host.
func (h maskedHost) Event(p *v1.Pod, e event.Event) { h.Host.Event(p, h.s.Masked(p, e)) }

// Published implements Host.
func (h maskedHost) Published(p *v1.Pod, s v1.PodStatus) {
	h.Host.Published(p, h.s.maskOf(p.UID).status(s))
}

// Masked returns the event without values of the pod's Secrets.
func (s *Syncer) Masked(p *v1.Pod, e event.Event) event.Event { return s.maskOf(p.UID).event(e) }

// Brief returns a text about the pod without values of its Secrets, cut to a limit
// in bytes. A text that is as long as the limit may have been cut before.
func (s *Syncer) Brief(uid types.UID, text string, limit int) string {
	return s.maskOf(uid).brief(text, limit)
}

// MaskedText returns a text about the pod without values of its Secrets.
func (s *Syncer) MaskedText(uid types.UID, text string) string { return s.maskOf(uid).text(text) }

// MaskedUnready returns the unready containers without values of the pod's
// Secrets.
func (s *Syncer) MaskedUnready(uid types.UID, unready []event.Unready) []event.Unready {
	if m := s.maskOf(uid); m != nil {
		for i := range unready {
			unready[i].Probe.Output = m.text(unready[i].Probe.Output)
		}
	}
	return unready
}

// leave masks what an operation on the pod returns.
func (s *Syncer) leave(uid types.UID, res *Result, err *error) {
	m := s.maskOf(uid)
	res.Status, *err = m.status(res.Status), m.error(*err)
}

// mask replaces values in texts; nil replaces none.
type mask struct {
	// forms are sorted. Of those that a text begins with, each begins the next.
	forms []string
	// shorter is for each form the longest of the others that it begins with, -1 if
	// there is none.
	shorter []int
	// begin has the bytes that forms begin with.
	begin [256]bool
}

// newMask masks the values as they are, and as a path, a quoted text or one
// line of several shows them. Forms that the manifest contains are no secret.
func newMask(values map[string]bool, manifest *suffixarray.Index) *mask {
	forms := map[string]bool{}
	derive := func(form string, shortest int) {
		if len(form) >= shortest && strings.TrimSpace(form) != "" && !forms[form] && !contains(manifest, []byte(form)) {
			forms[form] = true
		}
	}
	for v := range values {
		forms[v] = true
		quoted := strconv.Quote(v)
		clean := filepath.Clean(v)
		for _, form := range [...]string{strings.TrimSpace(v), quoted[1 : len(quoted)-1], clean, strings.Trim(clean, "/")} {
			derive(form, maskShortest)
		}
		for line := range strings.SplitSeq(v, "\n") {
			derive(line, maskShortestLine)
		}
	}
	return maskOfForms(slices.Sorted(maps.Keys(forms)))
}

// maskOfForms returns the mask of forms that are sorted and not empty.
func maskOfForms(forms []string) *mask {
	m := &mask{forms: forms, shorter: make([]int, len(forms))}
	for i, form := range forms {
		m.begin[form[0]] = true
		at := i - 1
		for at >= 0 && !strings.HasPrefix(form, forms[at]) {
			at = m.shorter[at]
		}
		m.shorter[i] = at
	}
	return m
}

// longest is the length of the longest form that the text begins with.
func (m *mask) longest(s string) int {
	if !m.begin[s[0]] {
		return 0
	}
	after := sort.Search(len(m.forms), func(i int) bool { return m.forms[i] > s })
	if after == 0 {
		return 0
	}
	// What stands between a beginning of the text and the text begins with it, too.
	at, same := after-1, common(m.forms[after-1], s)
	for at >= 0 && len(m.forms[at]) > same {
		at = m.shorter[at]
	}
	if at < 0 {
		return 0
	}
	return len(m.forms[at])
}

// common is the length of what both texts begin with.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// span is the part of a text from one byte up to another.
type span struct{ from, to int }

// spans are the parts of the text that the forms cover, in order. Values may
// overlap in a text: parts that overlap or touch are one. Cut: the text may end
// within a value.
func (m *mask) spans(s string, cut bool) []span {
	var all []span
	add := func(part span) {
		if last := len(all) - 1; last >= 0 && part.from <= all[last].to {
			all[last].to = max(all[last].to, part.to)
		} else {
			all = append(all, part)
		}
	}
	tail := len(s)
	if cut {
		tail -= m.tail(s)
	}
	for from := range tail {
		if n := m.longest(s[from:]); n > 0 {
			add(span{from, from + n})
		}
	}
	if tail < len(s) {
		add(span{tail, len(s)})
	}
	return all
}

// maskOf returns the pod's mask, nil if it has no secrets.
func (s *Syncer) maskOf(uid types.UID) *mask {
	s.mu.Lock()
	m := s.pods[uid]
	s.mu.Unlock()
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mask
}

func (m *mask) text(s string) string { return m.replace(s, false) }

// replace masks the values in a text that may be cut.
func (m *mask) replace(s string, cut bool) string {
	if m == nil {
		return s
	}
	spans := m.spans(s, cut)
	if len(spans) == 0 {
		return s
	}
	var out strings.Builder
	end := 0
	for _, part := range spans {
		out.WriteString(s[end:part.from])
		out.WriteString(maskText)
		end = part.to
	}
	out.WriteString(s[end:])
	return out.String()
}

func (m *mask) event(e event.Event) event.Event {
	if m == nil {
		return e
	}
	e.Message = m.text(e.Message)
	if e.Waiting != nil {
		w := *e.Waiting
		w.Message = m.text(w.Message)
		e.Waiting = &w
	}
	if e.Failure != nil {
		f := *e.Failure
		f.Text = m.text(f.Text)
		e.Failure = &f
	}
	if e.Probe != nil {
		p := *e.Probe
		p.Output = m.text(p.Output)
		e.Probe = &p
	}
	return e
}

func (m *mask) status(s v1.PodStatus) v1.PodStatus {
	if m == nil {
		return s
	}
	s = *s.DeepCopy()
	s.Message = m.text(s.Message)
	for i := range s.Conditions {
		s.Conditions[i].Message = m.text(s.Conditions[i].Message)
	}
	for state := range states(&s) {
		if state.Waiting != nil {
			state.Waiting.Message = m.text(state.Waiting.Message)
		}
		if state.Terminated != nil {
			state.Terminated.Message = m.text(state.Terminated.Message)
		}
	}
	return s
}

// error returns the error with its text masked. It is still what it was to
// errors.Is and errors.As.
func (m *mask) error(err error) error {
	if m == nil || err == nil {
		return err
	}
	text := err.Error()
	masked := m.text(text)
	if masked == text {
		return err
	}
	return &maskedError{err, masked}
}

type maskedError struct {
	err  error
	text string
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Unwrap() error { return e.err }
