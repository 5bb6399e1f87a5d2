package pod

import (
	"errors"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/sys/hint"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "a", "E": "", "R": "$(A)"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	for in, want := range map[string]string{
		"":             "",
		"plain":        "plain",
		"$(A)":         "a",
		"x$(A)y$(A)":   "xaya",
		"$(E)":         "",
		"$(R)":         "$(A)", // what a value holds is not expanded again
		"$(NO)":        "$(NO)",
		"$$(A)":        "$(A)",
		"$$$(A)":       "$a",
		"$$$$(A)":      "$$(A)",
		"$$A":          "$A",
		"$A":           "$A",
		"$":            "$",
		"a$":           "a$",
		"$(":           "$(",
		"$(A":          "$(A",
		"$()":          "$()",
		"$($(A)":       "$($(A)",
		"$(A)$$(A)$":   "a$(A)$",
		"$(A $(A)":     "$(A $(A)",
		"\u00e9$(A)é$": "\u00e9aé$",
	} {
		if got, err := Expand(in, 100, lookup); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestExpandHasALimit(t *testing.T) {
	lookup := func(string) (string, bool) { return "abc", true }
	for in, limit := range map[string]int{"$(A)": 3, "x$(A)y": 5, "$$": 1, "plain": 5, "$(A)$(A)": 6} {
		if _, err := Expand(in, limit, lookup); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		_, err := Expand(in, limit-1, lookup)
		if !errors.Is(err, ErrExpansion) || hint.Of(err) == "" {
			t.Errorf("%q with less: %v", in, err)
		}
	}
}

// Each $( looked through all that follows for its end: a minute for one megabyte.
func TestExpandUnterminatedReferences(t *testing.T) {
	in := ")" + strings.Repeat("$(", 5<<20)
	if got, err := Expand(in, len(in), nil); got != in || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
