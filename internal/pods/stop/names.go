package stop

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Names locks the names of pods for one command, so that no podctl process begins to
// manage a pod while it is terminated. It needs Dir and Instance; Close releases all.
type Names struct {
	// Dir is the lock directory of the runtime, Instance the name under which names are
	// locked.
	Dir, Instance string
	// Procs are the processes of the machine.
	Procs proc.FS
	Log   *slog.Logger

	mu    sync.Mutex
	locks *owner.Locks
	// turns has a mutex for each name: two pods may have one, and are terminated one after
	// the other.
	turns map[string]*sync.Mutex
}

// turn returns the mutex of a name.
func (n *Names) turn(name string) *sync.Mutex {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.turns == nil {
		n.turns = map[string]*sync.Mutex{}
	}
	if n.turns[name] == nil {
		n.turns[name] = &sync.Mutex{}
	}
	return n.turns[name]
}

// open opens the locks when a name is locked first.
func (n *Names) open() (*owner.Locks, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.locks != nil {
		return n.locks, nil
	}
	var err error
	n.locks, err = owner.Open(n.Dir, n.Instance, n.Procs)
	return n.locks, err
}

// Close releases the locks.
func (n *Names) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.locks == nil {
		return nil
	}
	return n.locks.Close()
}

func nothing() error { return nil }

// Lock locks a name, after others that this command locks by it. ours: podctl created the pod,
// or may have; a podctl process that waits with the name of another one locked is no
// obstacle. The error is an *owner.HeldError if a live process has it.
func (n *Names) Lock(namespace, name string, ours bool) (release func() error, err error) {
	if name == "" {
		return nothing, nil
	}
	name = pod.FullName(name, namespace)
	turn := n.turn(name)
	turn.Lock()
	unlock, err := n.claim(name, ours)
	if err != nil {
		turn.Unlock()
		return nil, err
	}
	return func() error { defer turn.Unlock(); return unlock() }, nil
}

func (n *Names) claim(name string, ours bool) (release func() error, err error) {
	locks, err := n.open()
	if err == nil {
		err = locks.Claim(name)
	}
	if err == nil {
		return func() error { return locks.Release(name) }, nil
	}
	holder, held := errors.AsType[*owner.HeldError](err)
	switch {
	case held && !ours && !owners.IsCommand(holder.Owner):
		return nothing, nil // it waits for the end of this pod
	case held:
		return nil, err
	}
	return n.without(name, ours, err)
}

// without judges a lock that cannot be written, on a full disk for instance: it does not
// keep the user from terminating a pod, unless another process has it, which takes no
// space to find out.
func (n *Names) without(name string, ours bool, why error) (release func() error, err error) {
	holder, held, unknown := owner.HolderOf(n.Dir, name)
	switch {
	case !ours:
	case unknown != nil:
		return nil, fmt.Errorf("cannot see whether a podctl process manages pod %q: %w", name, unknown)
	case held:
		return nil, &owner.HeldError{What: fmt.Sprintf("pod %q", name), Owner: holder.Name}
	}
	n.Log.Warn("terminate a pod without a lock on its name", "pod", name, "err", why)
	return nothing, nil
}
