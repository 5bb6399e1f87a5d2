package owners

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// answering is a live agent of a runtime that answers at its socket with workers.
func answering(t *testing.T, dir string, runtime owner.Runtime, settled bool, workers ...control.Worker) *owner.Locks {
	t.Helper()
	locks, err := owner.Join(t.Context(), owner.JoinOptions{Run: filepath.Dir(dir), ID: filepath.Base(dir), Instance: "agent", Runtime: runtime, Procs: proc.Default})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	listener, err := control.Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if settled {
			w.Header().Set("Podctl-Settled", "true")
		}
		_ = json.NewEncoder(w).Encode(append([]control.Worker{}, workers...))
	})}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return locks
}

// neighbour is a live podctl process of another directory of the run directory, which
// answers at its socket.
func neighbour(t *testing.T, dir string) {
	t.Helper()
	answering(t, dir, owner.Runtime{}, true, control.Worker{UID: "uid-web"})
}

// The processes of other directories are neither asked nor looked for about pods that a
// process of the runtime's directory runs.
func TestProcessesElsewhereAreAskedOnlyAboutPodsThatNoneHereRuns(t *testing.T) {
	run := t.TempDir()
	answering(t, filepath.Join(run, "here"), tested, true, control.Worker{UID: "uid-web"}, control.Worker{UID: "uid-db"}, control.Worker{UID: "uid-coming"})
	neighbour(t, filepath.Join(run, "there"))
	for name, c := range map[string]struct {
		pods         []*pod.Pod
		dials, scans int
	}{
		"run pods":    {[]*pod.Pod{listed("web", "agent", pod.Running), listed("db", "agent", pod.Running)}, 0, 0},
		"another pod": {[]*pod.Pod{bare("bare")}, 1, 1},
	} {
		var dials atomic.Int32
		scans := 0
		asking := begin(t, Asker{Locks: filepath.Join(run, "here"), Dial: func(ctx context.Context, path string) (net.Conn, error) {
			if filepath.Base(filepath.Dir(path)) == "there" {
				dials.Add(1)
				return nil, net.ErrClosed
			}
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}}, tested)
		asking.q.holders = holdersOnce(&scans)
		if _, err := asking.Answers(t.Context(), nil, c.pods); err != nil || int(dials.Load()) != c.dials || scans != c.scans {
			t.Errorf("%s: %d processes asked, open files read %d times, %v", name, dials.Load(), scans, err)
		}
	}
}

// Processes that hang are waited for once, however many directories they are in.
func TestProcessesOfAllDirectoriesAreAskedAtTheSameTime(t *testing.T) {
	run := t.TempDir()
	names := []string{"one", "two", "three"}
	for _, name := range names {
		neighbour(t, filepath.Join(run, name))
	}
	var count atomic.Int32
	all := make(chan struct{})
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		if int(count.Add(1)) == len(names) {
			close(all)
		}
		select {
		case <-all:
			return new(net.Dialer).DialContext(ctx, "unix", path)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	web := listed("web", "agent", pod.Running)
	if got := owned(asked(t, Asker{Locks: filepath.Join(run, "here"), Dial: dial}, tested, web), web); got["web"] != "agent" {
		t.Errorf("owned: %v", got)
	}
}

// A process of the runtime's directory that waits for a pod names it, but does not own it.
func TestPodOfAnotherRunDirectoryForATwinThatWaits(t *testing.T) {
	run := t.TempDir()
	neighbour(t, filepath.Join(run, "there"))
	answering(t, filepath.Join(run, "here"), tested, true, control.Worker{UID: "uid-web", Rejected: "managed by another podctl"})
	web := listed("web", "run-dead", pod.Running)
	v := asked(t, Asker{Locks: filepath.Join(run, "here")}, tested, web).Judge(web)
	if v.Relation != Manages || !v.Process.Elsewhere || v.Process.Name != "agent" {
		t.Errorf("%+v", v)
	}
}

// A restarted agent answers before it has read its sources: the pods of the one before it
// are its own, by whatever endpoint and run directory they are looked at.
func TestPodsOfAnAgentThatHasNotAdoptedYet(t *testing.T) {
	for name, c := range map[string]struct {
		settled bool
		runtime owner.Runtime
		want    string
	}{
		"starts":                    {runtime: tested, want: "agent"},
		"starts, unknown runtime":   {want: "agent"},
		"settled":                   {settled: true, runtime: tested},
		"starts on another runtime": {runtime: owner.Runtime{Name: "another"}},
	} {
		run := t.TempDir()
		answering(t, filepath.Join(run, "there"), c.runtime, c.settled)
		before := listed("web", "agent", pod.Running)
		before.Sandboxes[0].OwnerID = "agent/of-before"
		a := asked(t, Asker{Locks: filepath.Join(run, "here")}, tested, before)
		if got := owned(a, before)["web"]; got != c.want {
			t.Errorf("%s: owner %q, want %q", name, got, c.want)
		}
		if named, err := a.OwnedPods(); (err == nil) != c.settled || len(named) > 0 {
			t.Errorf("%s: all pods %v, %v", name, named, err)
		}
	}
}

// Two runtimes may run one manifest: the pod of the UID on the other one is another pod.
// A process that waits for a pod leaves it to the one that restarts.
func TestPodOfAnotherRuntimeWithTheUID(t *testing.T) {
	for name, c := range map[string]struct {
		runtime owner.Runtime
		worker  control.Worker
		owned   bool
	}{
		"another runtime's":       {owner.Runtime{Name: "another"}, control.Worker{UID: "uid-web"}, false},
		"another storage":         {owner.Runtime{Name: tested.Name, Storage: "/other"}, control.Worker{UID: "uid-web"}, false},
		"a simulated runtime's":   {owner.Runtime{Name: "simulated"}, control.Worker{UID: "uid-web"}, false},
		"the same runtime's":      {tested, control.Worker{UID: "uid-web"}, true},
		"of a runtime not known":  {owner.Runtime{}, control.Worker{UID: "uid-web"}, true},
		"of a process that waits": {owner.Runtime{Name: tested.Name}, control.Worker{UID: "uid-web", Rejected: "held", WaitReason: "NameHeld"}, false},
	} {
		run := t.TempDir()
		answering(t, filepath.Join(run, "there"), c.runtime, true, c.worker)
		web := listed("web", "agent", pod.Running)
		web.Sandboxes[0].OwnerID = "agent/of-before"
		a := asked(t, Asker{Locks: filepath.Join(run, "here"), ElsewhereOnly: true}, tested, web)
		if got := owned(a, web); (len(got) > 0) != c.owned {
			t.Errorf("%s: owned %v", name, got)
		}
	}
}

// Where the processes that hold locks cannot be seen, one may live that has the pods.
func TestLocksThatCannotBeReadLeaveOwnersUnknown(t *testing.T) {
	procs := proc.FS(t.TempDir()) // has no locks
	web := listed("web", "run-dead", pod.Running)
	a := asked(t, Asker{Locks: filepath.Join(t.TempDir(), "here"), Procs: procs}, tested, web)
	if v := a.Judge(web); a.Unread == nil || v.Relation != Unknown || v.Why == nil {
		t.Errorf("unread %v, verdict %+v", a.Unread, v)
	}
}

// A process that ends between the look at its lock and the question is none that does not answer.
func TestProcessThatEndsMeanwhileIsNotSilent(t *testing.T) {
	run := t.TempDir()
	locks, err := owner.Open(filepath.Join(run, "here"), "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(control.Path(filepath.Join(run, "here"), "agent"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ends := func(context.Context, string) (net.Conn, error) {
		locks.Close()
		return nil, os.ErrNotExist
	}
	if a := asked(t, Asker{Locks: filepath.Join(run, "here"), Dial: ends}, tested); len(a.Processes) != 0 {
		t.Errorf("%v", a.Processes[0].NoAnswerError())
	}
}
