package inventory

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// A pod is not abandoned while a live podctl process owns it by another endpoint
// of the runtime, or may own it and does not answer.
func TestOwnersByAnotherEndpointAreAlive(t *testing.T) {
	pods := Merge([]*pod.Pod{
		listed("shown", "agent", pod.Running), listed("mine", "run-silent", pod.Running),
		listed("left", "run-dead", pod.Running), listed("bare", "", pod.Running),
	}, nil, func(*Pod) bool { return false })
	Elsewhere{Owners: map[types.UID]owner.Holder{"uid-shown": {Name: "agent"}}, Silent: []owner.Holder{{Name: "run-silent"}}}.Assign(pods)
	for _, p := range pods {
		want := map[string]string{"shown": "agent", "mine": "run-silent"}[p.Name]
		if p.Elsewhere != want || p.Alive != (want != "") {
			t.Errorf("%s: owner %q, alive %v, want %q", p.Name, p.Elsewhere, p.Alive, want)
		}
		if abandoned := p.Name == "left"; p.Abandoned() != abandoned {
			t.Errorf("%s: abandoned %v", p.Name, p.Abandoned())
		}
	}
}

// A silent podctl process of another endpoint holds the names of its pods, also
// of those that another instance created.
func TestNamesHeldBySilentProcessesOfOtherDirectoriesAreElsewhere(t *testing.T) {
	run := t.TempDir()
	locks, err := owner.Open(filepath.Join(run, "there"), "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	pods := Merge([]*pod.Pod{listed("adopted", "run-dead", pod.Running), listed("left", "run-dead", pod.Running)}, nil, func(*Pod) bool { return false })
	if err := locks.Claim("adopted_default"); err != nil {
		t.Fatal(err)
	}
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), nil)
	if err != nil {
		t.Fatal(err)
	}
	found.Assign(pods)
	for _, p := range pods {
		if want := map[string]string{"adopted": "agent"}[p.Name]; p.Elsewhere != want || p.Alive != (want != "") {
			t.Errorf("%s: owner %q, alive %v, want %q", p.Name, p.Elsewhere, p.Alive, want)
		}
	}
}

func TestAskElsewhereFindsSilentProcessesOfOtherDirectories(t *testing.T) {
	run := t.TempDir()
	for dir, instance := range map[string]string{"here": "agent", "there": "run-1", "also": "stop-1"} {
		locks, err := owner.Open(filepath.Join(run, dir), instance)
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close()
	}
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), nil)
	if err != nil || len(found.Silent) != 1 || found.Silent[0].Name != "run-1" || len(found.Owners) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
