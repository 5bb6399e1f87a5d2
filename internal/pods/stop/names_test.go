package stop

import (
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// A lock that cannot be written does not keep the user from terminating a pod, unless
// another process has it, or may have it.
func TestNameThatCannotBeLocked(t *testing.T) {
	const web = "web_default"
	dir := filepath.Join(t.TempDir(), "runtime")
	n := &Names{Dir: dir, Procs: proc.Default, Log: slog.New(slog.DiscardHandler)}
	if _, err := n.without(web, true, syscall.ENOSPC); err != nil {
		t.Errorf("no process has the name: %v", err)
	}
	agent, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	if err := agent.Claim(web); err != nil {
		t.Fatal(err)
	}
	_, err = n.without(web, true, syscall.ENOSPC)
	if held, ok := errors.AsType[*owner.HeldError](err); !ok || held.Owner != "agent" {
		t.Errorf("the agent has the name: %v", err)
	}
	n.Dir = "/dev/null/runtime" // cannot be read
	if _, err := n.without(web, true, syscall.EACCES); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("locks that cannot be read: %v", err)
	}
	if _, err := n.without(web, false, syscall.EACCES); err != nil {
		t.Errorf("a pod that no podctl can have made: %v", err)
	}
}

// Two pods of one name are terminated one after the other: the first does not release the
// lock of the second.
func TestRequestsOfOneNameTakeTurns(t *testing.T) {
	n := &Names{Dir: filepath.Join(t.TempDir(), "runtime"), Instance: "stop-1", Procs: proc.Default, Log: slog.New(slog.DiscardHandler)}
	defer func() { _ = n.Close() }()
	first, err := n.Lock("default", "web", true)
	if err != nil {
		t.Fatal(err)
	}
	locked := make(chan error, 1)
	go func() {
		release, err := n.Lock("default", "web", true)
		if err == nil {
			_, held, _ := owner.HolderOf(n.Dir, "web_default")
			if !held {
				err = errors.New("the second request has its turn without the lock")
			}
			err = errors.Join(err, release())
		}
		locked <- err
	}()
	select {
	case err := <-locked:
		t.Fatalf("the second request did not wait: %v", err)
	default:
	}
	if err := first(); err != nil {
		t.Fatal(err)
	}
	if err := <-locked; err != nil {
		t.Error(err)
	}
}
