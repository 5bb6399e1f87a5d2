package describe

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// ago is "41s ago", or "3m in the future" after a clock was set back.
func (p *page) ago(t time.Time) string {
	if ahead := t.Sub(p.now); ahead >= 2*time.Second {
		return age(ahead) + " in the future"
	}
	return age(p.now.Sub(t)) + " ago"
}

// pairs are labels and amounts, in the order of their keys.
func pairs(m map[string]string) string {
	var all []string
	for k, v := range m {
		all = append(all, k+"="+v)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func restarts(n int32) string {
	if n == 1 {
		return "1 restart"
	}
	return fmt.Sprintf("%d restarts", n)
}
