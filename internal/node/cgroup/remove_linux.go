package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// markName is the extended attribute of directories that podctl made.
const markName = "trusted.podctl"

// isParent is the mark of a parent cgroup. The mark of a pod's cgroup is its requests:
// see requested.
const isParent = "parent"

// mark marks directories. Where that is not allowed (inside a user namespace) they are
// merely never removed as parents.
func (m *Manager) mark(dirs []string, text string) {
	for _, dir := range dirs {
		if err := unix.Setxattr(dir, markName, []byte(text), 0); err != nil {
			m.log.Debug("mark cgroup", "path", dir, "err", err)
		}
	}
}

func marked(dir string) bool {
	size, err := unix.Getxattr(dir, markName, nil)
	return err == nil && size > 0
}

// Remove kills whatever still runs in the pod's cgroup and removes it, with
// what the runtime left below. A pod without a cgroup is no error, and one whose UID
// cannot name a cgroup has none. The caller must know that the pod is its own, and over
// (Destroy in pkg/kubelet/cm/pod_container_manager_linux.go).
func (m *Manager) Remove(ctx context.Context, uid types.UID) error {
	if checkElement("uid", string(uid)) != nil {
		return nil
	}
	var errs []error
	parents, err := m.parents()
	if err != nil {
		errs = append(errs, fmt.Errorf("remove pod cgroup: %w", err))
	}
	for _, parent := range parents {
		g := parent.child(podPrefix + string(uid))
		if err := m.remove(g); err != nil {
			errs = append(errs, fmt.Errorf("remove pod cgroup %s: %w", g.path(), err))
		}
	}
	if unlock, err := m.lock(ctx); err == nil {
		m.reweigh()
		unlock()
	}
	return errors.Join(errs...)
}

func (m *Manager) remove(g group) error {
	c, err := m.open(g, Limits{})
	if err != nil {
		return err
	}
	dirs := existing(c)
	if len(dirs) == 0 {
		return nil
	}
	if err := killAll(dirs); err != nil {
		return err
	}
	return c.Destroy()
}

// killRounds bounds how often the processes are listed and killed: those
// that fork meanwhile are found in the next round.
const killRounds = 5

// killAll kills the processes in the directories and below.
func killAll(dirs []string) error {
	for range killRounds {
		pids := map[int]bool{}
		for _, dir := range dirs {
			list, err := cgroups.GetAllPids(dir)
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
				return err
			}
			for _, pid := range list {
				pids[pid] = true
			}
		}
		if len(pids) == 0 {
			return nil
		}
		if err := killable(pids); err != nil {
			return err
		}
		for pid := range pids {
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("kill process %d: %w", pid, err)
			}
		}
	}
	return nil
}

// killable refuses the processes that podctl must not kill: itself, and what
// is listed as 0, a process of another pid namespace, since to kill 0 is to
// kill one's own process group.
func killable(pids map[int]bool) error {
	switch {
	case pids[os.Getpid()]:
		return errors.New("podctl itself runs in it")
	case pids[0]:
		return errors.New("a process of another pid namespace runs in it")
	}
	return nil
}

// leaveTimeout bounds the wait for the lock of a podctl process that exits.
const leaveTimeout = 2 * time.Second

// RemoveEmptyParents removes the parents that podctl made and that hold no
// pod. Other users of the same root lose nothing: a directory with
// something in it cannot be removed, and another podctl makes what it lacks.
func (m *Manager) RemoveEmptyParents() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	unlock, err := m.lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the process that has the lock removes them when it leaves
	}
	if err != nil {
		return fmt.Errorf("remove empty cgroups: %w", err)
	}
	defer unlock()
	return m.removeEmptyParents(func(Driver) bool { return true })
}

// removeEmptyParents removes those in the trees of the drivers that are chosen.
func (m *Manager) removeEmptyParents(chosen func(Driver) bool) error {
	parents, err := m.parents()
	errs := []error{err}
	for _, g := range parents {
		if !chosen(g.driver) {
			continue
		}
		if err := m.removeEmpty(g); err != nil {
			errs = append(errs, fmt.Errorf("remove cgroup %s: %w", g.path(), err))
		}
	}
	return errors.Join(errs...)
}

func (m *Manager) removeEmpty(g group) error {
	c, err := m.open(g, Limits{})
	if err != nil {
		return err
	}
	dirs := existing(c)
	if g.driver == Systemd {
		// A slice is stopped as a whole, so it must be empty and ours
		// everywhere.
		for _, dir := range dirs {
			if !marked(dir) || hasChildren(dir) {
				return nil
			}
		}
		if len(dirs) == 0 {
			return nil
		}
		return c.Destroy()
	}
	var errs []error
	for _, dir := range dirs {
		if !marked(dir) {
			continue
		}
		err := unix.Rmdir(dir)
		if err != nil && !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, &os.PathError{Op: "rmdir", Path: dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

// hasChildren reports whether the cgroup has cgroups in it, or may have.
func hasChildren(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	for _, e := range entries {
		if e.IsDir() {
			return true
		}
	}
	return false
}
