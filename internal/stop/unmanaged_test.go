package stop

import (
	"errors"
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// A lock that cannot be written does not keep the user from stopping a pod, unless another
// process has it, or may have it.
func TestPodWhoseNameIsHeldIsNotStoppedWithoutALock(t *testing.T) {
	full := &inventory.Pod{Namespace: "default", Name: "web", Runtime: &pod.Pod{Namespace: "default", Name: "web"}}
	dir := filepath.Join(t.TempDir(), "runtime")
	s := &Stopper{Locks: dir, Log: slog.New(slog.DiscardHandler)}
	if _, err := s.unclaimed(full, syscall.ENOSPC); err != nil {
		t.Errorf("no process has the name: %v", err)
	}
	agent, err := owner.Open(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = agent.Close() }()
	if err := agent.Claim(full.FullName()); err != nil {
		t.Fatal(err)
	}
	_, err = s.unclaimed(full, syscall.ENOSPC)
	if held, ok := errors.AsType[*owner.HeldError](err); !ok || held.Owner != "agent" {
		t.Errorf("the agent has the name: %v", err)
	}
	s.Locks = "/dev/null/runtime" // cannot be read
	if _, err := s.unclaimed(full, syscall.EACCES); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("locks that cannot be read: %v", err)
	}
	foreign := &inventory.Pod{Namespace: "default", Name: "web", Runtime: &pod.Pod{Namespace: "default", Name: "web", Sandboxes: []*pod.Sandbox{{ID: "s1"}}}}
	if _, err := s.unclaimed(foreign, syscall.EACCES); err != nil {
		t.Errorf("a pod that no podctl can have made: %v", err)
	}
	s.Locks = filepath.Join(t.TempDir(), "runtime")
	alive := &inventory.Pod{Namespace: "default", Name: "web", Creator: "agent", Alive: true, Runtime: full.Runtime}
	_, err = s.unclaimed(alive, syscall.ENOSPC)
	if held, ok := errors.AsType[*owner.HeldError](err); !ok || held.Owner != "agent" {
		t.Errorf("the lock of the living agent was deleted: %v", err)
	}
}
