package inventory

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
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
	locks, err := owner.Open(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	listener, err := control.Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode([]control.Worker{{UID: "uid-web"}})
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
		lost: func() owner.LostList {
			scans.Add(1)
			return nil
		},
	}
	managed := Merge([]*pod.Pod{listed("web", "agent", pod.Running), listed("db", "agent", pod.Running)},
		[]Live{{Client: &control.Client{}, Workers: []control.Worker{{UID: "uid-web"}, {UID: "uid-db"}, {UID: "uid-coming"}}}}, owners.Alive)
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
	found, err := AskElsewhere(t.Context(), filepath.Join(run, "here"), dial)
	if err != nil || len(found.Silent) != 0 || found.Owners["uid-web"].Name != "agent" {
		t.Errorf("%+v, %v", found, err)
	}
}

// A process of the runtime's directory that waits for a pod names it, but does not own it.
func TestPodOfAnotherRunDirectoryIsElsewhereAlsoForATwinThatWaits(t *testing.T) {
	run := t.TempDir()
	neighbour(t, filepath.Join(run, "there"))
	owners := NewOwners(filepath.Join(run, "here"), "", nil)
	twin := Live{Client: &control.Client{}, Workers: []control.Worker{{UID: "uid-web", Rejected: "managed by another podctl"}}}
	pods := Merge([]*pod.Pod{listed("web", "agent", pod.Running)}, []Live{twin}, owners.Alive)
	if err := owners.Assign(t.Context(), pods); err != nil || pods[0].Elsewhere != "agent" || pods[0].Managed() {
		t.Errorf("elsewhere %q, managed %v, %v", pods[0].Elsewhere, pods[0].Managed(), err)
	}
}
