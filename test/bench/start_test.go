package main

import (
	"slices"
	"testing"
)

func TestGrown(t *testing.T) {
	recorded := map[string]int{"code a": 100 << 10, "code b": 100 << 10, "init c": 20 << 10}
	if got := readWeights(weightLines(recorded)); len(got) != 3 || got["code b"] != 100<<10 {
		t.Errorf("read back: %v", got)
	}
	now := map[string]int{"code a": 109 << 10, "code b": 111 << 10, "code new": 16 << 10, "code small": 1 << 10, "init c": 30 << 10}
	if got := grown(recorded, now); !slices.Equal(got, []string{"code b", "code new", "init c"}) {
		t.Errorf("grown: %v", got)
	}
}
