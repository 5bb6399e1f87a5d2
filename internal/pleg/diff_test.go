package pleg

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/pod"
)

// gone stands for a container that a listing does not have.
const gone pod.State = 255

// TestDiffMatrix walks every old state by every new one, for a container and
// (where it may have the state) a sandbox.
func TestDiffMatrix(t *testing.T) {
	const started, died, removed, changed = ContainerStarted, ContainerDied, ContainerRemoved, ContainerChanged
	matrix := map[pod.State]map[pod.State][]EventType{
		gone:        {gone: nil, pod.Unknown: {changed}, pod.Created: {changed}, pod.Running: {started}, pod.Exited: {died}},
		pod.Unknown: {gone: {died, removed}, pod.Unknown: nil, pod.Created: nil, pod.Running: {started}, pod.Exited: {died}},
		pod.Created: {gone: {died, removed}, pod.Unknown: nil, pod.Created: nil, pod.Running: {started}, pod.Exited: {died}},
		pod.Running: {gone: {died, removed}, pod.Unknown: {changed}, pod.Created: {changed}, pod.Running: nil, pod.Exited: {died}},
		pod.Exited:  {gone: {removed}, pod.Unknown: {changed}, pod.Created: {changed}, pod.Running: {started}, pod.Exited: nil},
	}
	for old, row := range matrix {
		if len(row) != len(matrix) {
			t.Fatalf("row %v has %d cells", old, len(row))
		}
		for new, want := range row {
			for _, sandbox := range []bool{false, true} {
				// Beside a sandbox that does not change, and alone.
				for _, alone := range []bool{false, true} {
					got := Diff(listingOf(old, sandbox, alone), listingOf(new, sandbox, alone))
					var types []EventType
					for _, e := range got {
						types = append(types, e.Type)
						if e.PodUID != "u" || e.ID != "x" || e.Name != "web" || e.Namespace != "default" || (e.Container == "") != sandbox {
							t.Errorf("%v to %v: %+v", old, new, e)
						}
					}
					if !slices.Equal(types, want) {
						t.Errorf("%v to %v (sandbox %v, alone %v): %v, expected %v", old, new, sandbox, alone, types, want)
					}
				}
			}
		}
	}
}

func listingOf(s pod.State, sandbox, alone bool) *pod.Pod {
	if s == gone && alone {
		return nil
	}
	p := &pod.Pod{UID: "u", Name: "web", Namespace: "default"}
	if !alone {
		p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: "still", State: pod.Running})
	}
	switch {
	case s == gone:
	case sandbox:
		p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: "x", State: s})
	default:
		p.Containers = append(p.Containers, &pod.Container{ID: "x", Name: "c", State: s})
	}
	return p
}

// TestDiffOrder: what was there before comes first, containers before sandboxes.
func TestDiffOrder(t *testing.T) {
	old := &pod.Pod{Containers: []*pod.Container{{ID: "c1", State: pod.Running}}, Sandboxes: []*pod.Sandbox{{ID: "s1", State: pod.Running}}}
	new := &pod.Pod{
		Containers: []*pod.Container{{ID: "c2", State: pod.Running}, {ID: "c1", State: pod.Exited}},
		Sandboxes:  []*pod.Sandbox{{ID: "s2", State: pod.Running}, {ID: "s1", State: pod.Exited}},
	}
	var got []string
	for _, e := range Diff(old, new) {
		got = append(got, string(e.Type)+" "+e.ID)
	}
	want := []string{"ContainerDied c1", "ContainerDied s1", "ContainerStarted c2", "ContainerStarted s2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, expected %q", got, want)
	}
}

// TestDiffReplays: the events of Diff lead from the old listing to the new one,
// and there are none exactly if the two are alike.
func TestDiffReplays(t *testing.T) {
	listing := rapid.Custom(func(t *rapid.T) *pod.Pod {
		p := &pod.Pod{UID: "u"}
		for i := range 6 {
			if s := rapid.SampledFrom([]pod.State{gone, pod.Unknown, pod.Created, pod.Running, pod.Exited}).Draw(t, "state"); s != gone {
				p.Containers = append(p.Containers, &pod.Container{ID: fmt.Sprint("c", i), Name: "c", State: s})
			}
		}
		for i := range 3 {
			if s := rapid.SampledFrom([]pod.State{gone, pod.Running, pod.Exited}).Draw(t, "state"); s != gone {
				p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: fmt.Sprint("s", i), State: s})
			}
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := listing.Draw(t, "old"), listing.Draw(t, "new")
		m := phases(old)
		for _, e := range Diff(old, new) {
			switch e.Type {
			case ContainerStarted:
				m[e.ID] = running
			case ContainerDied:
				m[e.ID] = exited
			case ContainerChanged:
				m[e.ID] = unknown
			case ContainerRemoved:
				delete(m, e.ID)
			case PodSync:
				t.Fatalf("Diff gives %+v", e)
			}
		}
		want := phases(new)
		if fmt.Sprint(m) != fmt.Sprint(want) {
			t.Fatalf("the events lead to %v, the listing is %v", m, want)
		}
		if alike := fmt.Sprint(phases(old)) == fmt.Sprint(want); alike != (len(Diff(old, new)) == 0) {
			t.Fatalf("alike %v, events %v", alike, Diff(old, new))
		}
	})
}
