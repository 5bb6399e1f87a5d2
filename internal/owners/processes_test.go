package owners

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

var listed = testutil.ListedPod

// tested is the runtime of tests: that of no other podctl process of the machine.
var tested = owner.Runtime{Name: "tested", Storage: "/tested"}

// asked returns what the processes of a machine answered about the pods of a runtime.
func asked(t *testing.T, a Asker, runtime owner.Runtime, pods ...*pod.Pod) *Answers {
	t.Helper()
	answers, err := begin(t, a, runtime).Answers(t.Context(), nil, pods)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// begin begins to ask the processes of the machine about a runtime that identifies itself.
func begin(t *testing.T, a Asker, runtime owner.Runtime) *PendingAnswers {
	t.Helper()
	a.OwnerIsGone = true // the process of the runtime is not looked at
	if a.Procs == "" {
		a.Procs = proc.Default
	}
	asking := a.Start(t.Context())
	asking.q.runtime = func() owner.Runtime { return runtime }
	return asking
}

// owned are the names of the pods that podctl processes elsewhere own, or may own, and the
// instances.
func owned(a *Answers, pods ...*pod.Pod) map[string]string {
	found := map[string]string{}
	for _, p := range pods {
		if v := a.Judge(p); v.Kind == ByPodctl && v.Process.Elsewhere && v.Relation != Desires {
			found[p.Name] = v.Process.Name
		}
	}
	return found
}

// A pod is not abandoned while a live podctl process owns it by another endpoint of the
// runtime, or may own it and does not answer.
func TestOwnersByAnotherEndpoint(t *testing.T) {
	a := &Answers{Processes: []Process{
		{Process: control.Process{Name: "agent"}, Elsewhere: true, Settled: true, Workers: map[types.UID]control.Worker{"uid-shown": {UID: "uid-shown"}}},
		{Process: control.Process{Name: "run-silent"}, Elsewhere: true},
	}}
	for name, c := range map[string]struct {
		pod  *pod.Pod
		want Relation
	}{
		"that an agent answered with":       {listed("shown", "agent", pod.Running), Manages},
		"of a silent process":               {listed("mine", "run-silent", pod.Running), Unknown},
		"of a process that has exited":      {listed("left", "run-dead", pod.Running), None},
		"that podctl did not create":        {bare("bare"), None},
		"of the UID of a process's own pod": {bare("shown"), None},
	} {
		if got := a.Judge(c.pod).Relation; got != c.want {
			t.Errorf("a pod %s: %s, want %s", name, got, c.want)
		}
	}
}

// bare is a pod that neither podctl nor a kubelet created.
func bare(name string) *pod.Pod {
	p := listed(name, "", pod.Running, pod.Running)
	p.Sandboxes[0].Labels = nil
	return p
}

// What a live process says is no answer for another one of its name, nor for one that
// cannot be seen.
func TestNamesakesAndWaitingProcessesHideNoOwner(t *testing.T) {
	web := listed("web", "agent", pod.Running)
	web.Sandboxes[0].OwnerID = "agent/elsewhere"
	here := Process{Process: control.Process{Name: "agent", ID: "agent/here"}, Settled: true}
	silent := Process{Process: control.Process{Name: "agent", ID: "agent/elsewhere"}, Elsewhere: true}
	waits := here
	waits.Name, waits.Workers = "run-1", map[types.UID]control.Worker{"uid-web": {UID: "uid-web", Rejected: "held"}}
	for name, c := range map[string]struct {
		answers Answers
		want    Relation
	}{
		"a namesake alone adopts it":            {Answers{Processes: []Process{here}}, Manages},
		"the silent creator elsewhere":          {Answers{Processes: []Process{here, silent}}, Unknown},
		"creators cannot be seen":               {Answers{Processes: []Process{here}, Unseen: ErrNotAsked}, Unknown},
		"creators cannot be seen, and it waits": {Answers{Processes: []Process{waits}, Unseen: ErrNotAsked}, Unknown},
		"a directory cannot be read":            {Answers{Processes: []Process{waits}, Unread: ErrNotAsked}, Unknown},
	} {
		if v := c.answers.Judge(web); v.Relation != c.want || (v.Why != nil) != (c.want == Unknown) {
			t.Errorf("%s: %s, %v; want %s", name, v.Relation, v.Why, c.want)
		}
	}
}

// A silent podctl process of another endpoint holds the names of its pods, also of those
// that another instance created.
func TestNamesHeldBySilentProcessesElsewhere(t *testing.T) {
	run := t.TempDir()
	locks, err := owner.Open(filepath.Join(run, "there"), "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	if err := locks.Claim("adopted_default"); err != nil {
		t.Fatal(err)
	}
	pods := []*pod.Pod{listed("adopted", "run-dead", pod.Running), listed("left", "run-dead", pod.Running)}
	got := owned(asked(t, Asker{Locks: filepath.Join(run, "here")}, tested, pods...), pods...)
	if len(got) != 1 || got["adopted"] != "agent" {
		t.Errorf("owned: %v", got)
	}
}

// Processes that stop or terminate pods for a command own none.
func TestProcessesOfCommandsOwnNoPods(t *testing.T) {
	run := t.TempDir()
	for dir, instance := range map[string]string{"here": "agent", "there": "run-1", "also": "stop-1", "too": "orphans-1"} {
		locks, err := owner.Open(filepath.Join(run, dir), instance, proc.Default)
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close()
	}
	a := asked(t, Asker{Locks: filepath.Join(run, "here"), ElsewhereOnly: true, Everybody: true}, tested)
	if len(a.Processes) != 1 || a.Processes[0].Name != "run-1" || a.Processes[0].Settled {
		t.Errorf("%+v", a.Processes)
	}
}

// A process with another run directory locks names there, but its pods are its own.
func TestProcessWithAnotherRunDirectoryOwnsItsPods(t *testing.T) {
	if run := os.Getenv("OWNERS_TEST_RUN"); run != "" {
		locks, err := owner.Join(t.Context(), owner.JoinOptions{Run: run, ID: "id", Instance: "agent", Runtime: owner.Runtime{Endpoint: os.Getenv("OWNERS_TEST_ENDPOINT"), Name: tested.Name}, Procs: proc.Default})
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
		cmd.Env = append(os.Environ(), "OWNERS_TEST_RUN="+filepath.Join(t.TempDir(), "run"), "OWNERS_TEST_ENDPOINT="+endpoint)
		id, ended := testutil.Child(t, cmd)
		return id, func() { _ = ended() }
	}
	found := func(dir, runtime, id string) map[string]string {
		created, adopted := listed("created", "agent", pod.Running), listed("adopted", "run-dead", pod.Running)
		created.Sandboxes[0].OwnerID, adopted.Sandboxes[0].OwnerID = id, "run-dead/1"
		pods := []*pod.Pod{created, adopted, listed("left", "run-dead", pod.Running)}
		return owned(asked(t, Asker{Locks: filepath.Join(run, dir)}, owner.Runtime{Name: runtime}, pods...), pods...)
	}
	id, end := start("unix:///run/some.sock")
	// Through a proxy, or in a container, the socket has another path.
	for _, dir := range []string{"id", "other"} {
		if got := found(dir, tested.Name, id); got["created"] == "" || got["adopted"] == "" || len(got) != 2 {
			t.Errorf("owned %v, by the directory %s", got, dir)
		}
	}
	if got := found("id", "another", id); len(got) != 0 {
		t.Errorf("of another runtime: %v", got)
	}
	end()
	if got := found("id", tested.Name, id); len(got) != 0 {
		t.Errorf("of a process that has exited: %v", got)
	}
	// A runtime within a process has the id of all of its kind.
	if id, end = start(""); len(found("id", tested.Name, id)) != 0 {
		t.Error("a simulated runtime is another one's")
	}
	end()
}

// holdersOnce counts how often the open files of processes are read.
func holdersOnce(scans *int) func() owner.LockHolders {
	return sync.OnceValue(func() owner.LockHolders { *scans++; return owner.LockHolders{} })
}

// What an agent of another runtime says, whose socket has the same path in another mount namespace, is
// no answer for the pods of this one, and no proof that it has none.
func TestProcessOfAnotherRuntimeWithTheSamePath(t *testing.T) {
	run, procs, theirs := t.TempDir(), t.TempDir(), t.TempDir()
	socket := filepath.Join(t.TempDir(), "cri.sock")
	used := owner.Runtime{Name: "tested", Storage: "/tested", File: "1:1"}
	locks := answering(t, filepath.Join(run, "here"), used, true, control.Worker{UID: "uid-web"})
	if err := locks.Claim("claimed_default"); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(procs, strconv.Itoa(os.Getpid()))
	err := errors.Join(
		os.Symlink("/proc/locks", filepath.Join(procs, "locks")), os.Mkdir(agent, 0o700), os.WriteFile(socket, nil, 0o600),
		os.MkdirAll(filepath.Dir(filepath.Join(theirs, socket)), 0o700), os.WriteFile(filepath.Join(theirs, socket), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	web, claimed := listed("web", "agent", pod.Running), listed("claimed", "run-dead", pod.Running)
	for name, c := range map[string]struct {
		root string // of the agent
		file string // of the storage of the runtime that is asked about
		want Relation
	}{
		"another socket, another storage": {theirs, "2:2", Unknown},
		"another socket, one storage":     {theirs, "1:1", Manages},
		"one socket, a storage remounted": {"/", "2:2", Manages},
		"a socket that is not seen":       {t.TempDir(), "2:2", Manages},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(agent, "root")
			if err := os.Symlink(c.root, root); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(root)
			asking := begin(t, Asker{Locks: filepath.Join(run, "here"), Procs: proc.FS(procs)}, owner.Runtime{Name: "tested", Storage: "/tested", File: c.file})
			asking.q.endpoint = "unix://" + socket
			answers, err := asking.Answers(t.Context(), nil, []*pod.Pod{web, claimed})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []*pod.Pod{web, claimed} {
				if v := answers.Judge(p); v.Relation != c.want {
					t.Errorf("%s: %s %v, want %s", p.Name, v.Relation, v.Why, c.want)
				}
			}
		})
	}
}
