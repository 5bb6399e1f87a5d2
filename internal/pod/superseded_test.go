package pod

import (
	"strings"
	"testing"
)

func TestSupersededSandboxesAndAttempts(t *testing.T) {
	c := func(id, name string, state State) *Container { return &Container{ID: id, Name: name, State: state} }
	s := func(id string, state State) *Sandbox { return &Sandbox{ID: id, State: state} }
	for _, test := range []struct {
		name       string
		sandboxes  []*Sandbox   // newest first
		containers []*Container // the same
		want       string
	}{
		{"a restart", []*Sandbox{s("s", Running)}, []*Container{c("a1", "a", Running), c("a0", "a", Exited)}, ""},
		{"two containers", []*Sandbox{s("s", Running)}, []*Container{c("b0", "b", Running), c("a0", "a", Running)}, ""},
		{"an older attempt runs", []*Sandbox{s("s", Running)}, []*Container{c("a2", "a", Running), c("a1", "a", Running), c("a0", "a", Exited)}, "a1"},
		{"and the newest has ended", []*Sandbox{s("s", Running)}, []*Container{c("a1", "a", Exited), c("a0", "a", Running)}, "a0"},
		{"it may run", []*Sandbox{s("s", Running)}, []*Container{c("a1", "a", Running), c("a0", "a", Unknown)}, "a0"},
		{"an older sandbox is ready", []*Sandbox{s("s1", Running), s("s0", Running)}, nil, "s0"},
		{"it alone is ready", []*Sandbox{s("s1", Exited), s("s0", Running)}, nil, "s0"},
		{"an older sandbox has ended", []*Sandbox{s("s1", Running), s("s0", Exited)}, nil, ""},
	} {
		var got []string
		sandboxes, containers := (&Pod{Sandboxes: test.sandboxes, Containers: test.containers}).Superseded()
		for _, s := range sandboxes {
			got = append(got, s.ID)
		}
		for _, c := range containers {
			got = append(got, c.ID)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s: %q, want %q", test.name, s, test.want)
		}
	}
}
