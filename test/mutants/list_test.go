package main

import (
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// A known bug is an issue, or has a history.
func TestMutantsBugs(t *testing.T) {
	issue := regexp.MustCompile(`^[a-z-]+#[0-9]+$`)
	for _, m := range mutants {
		if history, ok := strings.CutPrefix(m.bug, ownBug); ok {
			if _, err := os.Stat(filepath.Join("../../internal/node/testdata/histories", history+".txt")); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		} else if m.bug != "" && !issue.MatchString(m.bug) {
			t.Errorf("%s: %q names neither an issue nor a history", m.name, m.bug)
		}
	}
}
