package main

import (
	"context"
	"testing"

	"github.com/podctl/podctl/test/live/bare"
)

// TestRelistLoopsReportSameChanges: a contender that saw less would be faster. Each
// relister fails if it has reported more or less than it should have.
func TestRelistLoopsReportSameChanges(t *testing.T) {
	const containers = 100
	n, err := newSimNode(t.Context(), t.TempDir(), containers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.close)
	client, err := bare.Dial(n.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ours, err := newPLEGRelister(t.Context(), n.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	kubelet := kubeletRelister{newKubeletLoop(client.Runtime)}
	steps := []struct {
		name   string
		change func(context.Context) error
		events int
		calls  int
	}{
		{"the first relist", func(context.Context) error { return nil }, containers + containers/perPod, 2 + containers + containers/perPod},
		{"nothing has changed", func(context.Context) error { return nil }, 0, 2},
		{"a container has exited", n.stopChanging, 1, 2 + 1 + perPod},
		{"and is replaced", n.renewChanging, 2, 2 + 1 + perPod},
	}
	for _, step := range steps {
		if err := step.change(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, r := range map[string]relister{"podctl": ours, "the kubelet": kubelet} {
			s, err := spend(r, 1, func() error { return r.relist(t.Context(), step.events) })
			if err != nil {
				t.Fatalf("%s: %s: %v", step.name, name, err)
			}
			if s.calls != step.calls || s.lists <= 0 || s.lists > s.took {
				t.Errorf("%s: %s made %d calls, want %d; lists %v of %v", step.name, name, s.calls, step.calls, s.lists, s.took)
			}
			if s, err := spend(r, 3, func() error { return r.inRow(t.Context(), 3) }); err != nil || s.calls != 2 {
				t.Errorf("after %s: %s made %d calls for each of 3 relists, %v", step.name, name, s.calls, err)
			}
		}
	}
}
