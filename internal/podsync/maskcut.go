package podsync

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
)

// brief masks a text before it cuts it to a limit: the beginning of a value is not
// found. A text that fills the limit may have been cut before, within a value.
func (m *mask) brief(s string, limit int) string {
	s = m.replace(s, len(s) >= limit)
	return s[:min(len(s), limit)]
}

// tail is the length of the longest end of a text that is the beginning of a value.
func (m *mask) tail(s string) int {
	longest := 0
	for _, form := range m.forms {
		for n := min(len(form)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, form[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// heads returns the status with the beginnings of cut messages masked that are
// the end of a value.
func (m *mask) heads(st *pod.Status) *pod.Status {
	if m == nil || !slices.ContainsFunc(st.Containers, func(c *pod.ContainerStatus) bool { return c.CutMessage > 0 }) {
		return st
	}
	masked := *st
	masked.Containers = slices.Clone(st.Containers)
	for i, c := range masked.Containers {
		if c.CutMessage > 0 {
			copied := *c
			at := len(c.Message) - c.CutMessage
			copied.Message = c.Message[:at] + m.head(c.Message[at:])
			masked.Containers[i] = &copied
		}
	}
	return &masked
}

// head masks the longest beginning of a text that is the end of a value.
func (m *mask) head(s string) string {
	longest := 0
	for _, form := range m.forms {
		for n := min(len(form)-1, len(s)); n > longest; n-- {
			if strings.HasPrefix(s, form[len(form)-n:]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return s
	}
	return maskText + s[longest:]
}
