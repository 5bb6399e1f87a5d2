package inventory

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/testutil"
)

// tested is the runtime of tests: that of no other podctl process of the machine.
var tested = owner.Runtime{Name: "tested", Storage: "/tested"}

// A pod is not abandoned while a live podctl process owns it by another endpoint
// of the runtime, or may own it and does not answer.
func TestOwnersByAnotherEndpointAreAlive(t *testing.T) {
	pods := Merge([]*pod.Pod{
		listed("shown", "agent", pod.Running), listed("mine", "run-silent", pod.Running),
		listed("left", "run-dead", pod.Running), listed("bare", "", pod.Running),
	}, nil, func(*Pod) bool { return false })
	Elsewhere{owners: map[types.UID]owner.Holder{"uid-shown": {Name: "agent"}}, unsettled: []owner.Holder{{Name: "run-silent"}}}.Assign(pods)
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
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), tested, nil)
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
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), tested, nil)
	if err != nil || len(found.unsettled) != 1 || found.unsettled[0].Name != "run-1" || len(found.owners) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A process with another run directory locks names there, but its pods are its own.
func TestProcessWithAnotherRunDirectoryOwnsItsPods(t *testing.T) {
	if run := os.Getenv("INVENTORY_TEST_RUN"); run != "" {
		locks, err := owner.Join(t.Context(), owner.JoinOptions{Run: run, ID: "id", Instance: "agent", Runtime: owner.Runtime{Endpoint: os.Getenv("INVENTORY_TEST_ENDPOINT"), Name: tested.Name}})
		if err == nil {
			err = locks.Claim("adopted_default")
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString(locks.ID() + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
		os.Exit(0)
	}
	if runtime.GOOS != "linux" {
		t.Skip("open files are read on Linux only")
	}
	run := t.TempDir()
	start := func(endpoint string) (id string, end func()) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcessWithAnotherRunDirectoryOwnsItsPods$")
		cmd.Env = append(os.Environ(), "INVENTORY_TEST_RUN="+filepath.Join(t.TempDir(), "run"), "INVENTORY_TEST_ENDPOINT="+endpoint)
		id, ended := testutil.Child(t, cmd)
		return id, func() { _ = ended() }
	}
	owned := func(dir, runtime, id string) map[string]bool {
		found, err := AskElsewhere(t.Context(), filepath.Join(run, dir), owner.Runtime{Name: runtime}, nil)
		if err != nil {
			t.Fatal(err)
		}
		created, adopted := listed("created", "agent", pod.Running), listed("adopted", "run-dead", pod.Running)
		created.Sandboxes[0].OwnerID, adopted.Sandboxes[0].OwnerID = id, "run-dead/1"
		pods := Merge([]*pod.Pod{created, adopted, listed("left", "run-dead", pod.Running)}, nil, func(*Pod) bool { return false })
		found.Assign(pods)
		elsewhere := map[string]bool{}
		for _, p := range pods {
			if p.Elsewhere == "agent" && p.Alive {
				elsewhere[p.Name] = true
			}
		}
		return elsewhere
	}
	id, end := start("unix:///run/some.sock")
	// Through a proxy, or in a container, the socket has another path.
	for _, dir := range []string{"id", "other"} {
		if got := owned(dir, tested.Name, id); !got["created"] || !got["adopted"] || len(got) != 2 {
			t.Errorf("owned %v, by the directory %s", got, dir)
		}
	}
	if got := owned("id", "another", id); len(got) != 0 {
		t.Errorf("of another runtime: %v", got)
	}
	end()
	if got := owned("id", tested.Name, id); len(got) != 0 {
		t.Errorf("of a process that has exited: %v", got)
	}
	// A runtime within a process has the id of all of its kind.
	if id, end = start(""); len(owned("id", tested.Name, id)) != 0 {
		t.Error("a simulated runtime is another one's")
	}
	end()
}
