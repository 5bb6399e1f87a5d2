package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// neighbour is a live podctl process of another directory of the run directory, which
// answers at its socket.
func neighbour(t *testing.T, dir string) {
	t.Helper()
	answering(t, dir, owner.Runtime{}, true, control.Worker{UID: "uid-web"})
}

// answering is a live agent of a runtime that names the workers.
func answering(t *testing.T, dir string, runtime owner.Runtime, settled bool, workers ...control.Worker) {
	t.Helper()
	locks, err := owner.Join(t.Context(), owner.JoinOptions{Run: filepath.Dir(dir), ID: filepath.Base(dir), Instance: "agent", Runtime: runtime})
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
}

// A pod that a process of the runtime's directory manages has its owner: the processes
// of other directories are neither asked nor looked for.
func TestOtherProcessesAreAskedOnlyForPodsThatNoneOfTheDirectoryManages(t *testing.T) {
	run := t.TempDir()
	neighbour(t, filepath.Join(run, "there"))
	var dials, scans atomic.Int32
	owners := Owners{
		dir: filepath.Join(run, "here"),
		dial: func(context.Context, string) (net.Conn, error) {
			dials.Add(1)
			return nil, net.ErrClosed
		},
		holders: func() owner.Holders { return owner.Holders{} },
		lost: func() (owner.LostList, error) {
			scans.Add(1)
			return nil, nil
		},
		identify: func(context.Context) owner.Runtime { return tested },
	}
	managed := Merge([]*pod.Pod{listed("web", "agent", pod.Running), listed("db", "agent", pod.Running)},
		[]Live{{Process: control.Process{}, Workers: []control.Worker{{UID: "uid-web"}, {UID: "uid-db"}, {UID: "uid-coming"}}}}, owners.Alive)
	if err := owners.Assign(t.Context(), managed); err != nil || dials.Load() != 0 || scans.Load() != 0 {
		t.Errorf("of managed pods: %d processes asked, open files read %d times, %v", dials.Load(), scans.Load(), err)
	}
	bare := Merge([]*pod.Pod{listed("bare", "", pod.Running)}, nil, owners.Alive)
	if err := owners.Assign(t.Context(), bare); err != nil || dials.Load() != 1 || scans.Load() != 1 {
		t.Errorf("of another pod: %d processes asked, open files read %d times, %v", dials.Load(), scans.Load(), err)
	}
}

// Processes that hang are waited for once, however many directories they are in.
func TestProcessesOfAllDirectoriesAreAskedAtTheSameTime(t *testing.T) {
	run := t.TempDir()
	names := []string{"one", "two", "three"}
	for _, name := range names {
		neighbour(t, filepath.Join(run, name))
	}
	var asked atomic.Int32
	all := make(chan struct{})
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		if int(asked.Add(1)) == len(names) {
			close(all)
		}
		select {
		case <-all:
			return new(net.Dialer).DialContext(ctx, "unix", path)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), tested, dial)
	if err != nil || len(found.unsettled) != 0 || found.owners["uid-web"].Name != "agent" {
		t.Errorf("%+v, %v", found, err)
	}
}

// A process of the runtime's directory that waits for a pod names it, but does not own it.
func TestPodOfAnotherRunDirectoryIsElsewhereAlsoForATwinThatWaits(t *testing.T) {
	run := t.TempDir()
	neighbour(t, filepath.Join(run, "there"))
	owners := ownersOf(filepath.Join(run, "here"))
	twin := Live{Process: control.Process{}, Workers: []control.Worker{{UID: "uid-web", Rejected: "managed by another podctl"}}}
	pods := Merge([]*pod.Pod{listed("web", "agent", pod.Running)}, []Live{twin}, owners.Alive)
	if err := owners.Assign(t.Context(), pods); err != nil || pods[0].Elsewhere != "agent" || pods[0].Managed() {
		t.Errorf("elsewhere %q, managed %v, %v", pods[0].Elsewhere, pods[0].Managed(), err)
	}
}

// ownersOf are the owners of the pods of the tested runtime.
func ownersOf(dir string) Owners {
	return Owners{
		dir:      dir,
		holders:  func() owner.Holders { return owner.Holders{} },
		lost:     func() (owner.LostList, error) { return nil, nil },
		identify: func(context.Context) owner.Runtime { return tested },
	}
}

// A restarted agent answers before it has read its sources: the pods of the one before it
// are its own, by whatever endpoint and run directory they are looked at.
func TestPodsOfAnAgentThatHasNotAdoptedYetAreItsOwnByEveryEndpoint(t *testing.T) {
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
		owners := ownersOf(filepath.Join(run, "here"))
		pods := Merge([]*pod.Pod{before}, nil, owners.Alive)
		if err := owners.Assign(t.Context(), pods); err != nil || pods[0].Elsewhere != c.want {
			t.Errorf("%s: elsewhere %q, want %q, %v", name, pods[0].Elsewhere, c.want, err)
		}
		if named, err := owners.All(t.Context()); (err == nil) != c.settled || len(named) > 0 {
			t.Errorf("%s: all pods %v, %v", name, named, err)
		}
	}
}

// Two runtimes may run one manifest: the pod of the UID on the other one is another pod.
// A process that waits for a pod leaves it to the one that restarts.
func TestRestartedAgentAdoptsItsPodBesideAnotherRuntimesPodOfTheUID(t *testing.T) {
	for name, c := range map[string]struct {
		runtime owner.Runtime
		worker  control.Worker
		owned   bool
	}{
		"another runtime's":       {owner.Runtime{Name: "another"}, control.Worker{UID: "uid-web"}, false},
		"another storage":         {owner.Runtime{Name: tested.Name, Storage: "/other"}, control.Worker{UID: "uid-web"}, false},
		"the same runtime's":      {tested, control.Worker{UID: "uid-web"}, true},
		"of a runtime not known":  {owner.Runtime{}, control.Worker{UID: "uid-web"}, true},
		"of a process that waits": {owner.Runtime{Name: tested.Name}, control.Worker{UID: "uid-web", Rejected: "held", WaitReason: "NameHeld"}, false},
	} {
		run := t.TempDir()
		answering(t, filepath.Join(run, "there"), c.runtime, true, c.worker)
		found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), tested, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, owned := found.Owner("uid-web", "web_default", "agent", "agent/of-before"); owned != c.owned {
			t.Errorf("%s: owned %v", name, owned)
		}
	}
}

// Where the processes that hold locks cannot be seen, one may live that has the pods.
func TestLocksThatCannotBeReadLeaveOwnersUnknown(t *testing.T) {
	owners := ownersOf(filepath.Join(t.TempDir(), "here"))
	owners.lost = func() (owner.LostList, error) { return nil, &owner.LocksError{Cause: os.ErrNotExist} }
	pods := Merge([]*pod.Pod{listed("web", "run-dead", pod.Running)}, nil, owners.Alive)
	err := owners.Assign(t.Context(), pods)
	if _, unseen := errors.AsType[*owner.LocksError](err); !unseen || pods[0].Abandoned() {
		t.Errorf("abandoned %v, %v", pods[0].Abandoned(), err)
	}
}
