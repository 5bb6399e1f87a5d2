package main

import (
	"go/format"
	"slices"
	"testing"
)

// Every mistake can still be made.
func TestMutantsApply(t *testing.T) {
	for _, m := range slices.Concat(mutants, unlikeKubelet) {
		text, err := m.apply("../..")
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := format.Source([]byte(text)); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
}
