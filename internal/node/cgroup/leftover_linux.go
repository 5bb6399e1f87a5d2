package cgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"k8s.io/apimachinery/pkg/types"
)

// Leftover returns the pod's cgroup if podctl made it and no process is in it or
// below; ok is false otherwise. Whether the pod exists is for the caller to know.
func (m *Manager) Leftover(uid types.UID) (l Leftover, ok bool, err error) {
	if err := checkElement("uid", string(uid)); err != nil {
		return Leftover{}, false, nil // no name of a pod cgroup of podctl
	}
	all, err := m.leftovers(uid)
	if err != nil {
		return Leftover{}, false, fmt.Errorf("examine pod cgroup: %w", err)
	}
	if len(all) == 0 {
		return Leftover{}, false, nil
	}
	return all[0].Leftover, true, nil
}

// opened is a leftover that can be removed, in the tree of a driver.
type opened struct {
	Leftover
	driver Driver
	cgroups.Manager
}

// leftovers returns the leftover cgroups of a pod: it may have one of each driver.
func (m *Manager) leftovers(uid types.UID) (all []opened, err error) {
	parents, err := m.parents()
	if err != nil {
		return nil, err
	}
	for _, parent := range parents {
		c, err := m.open(parent.child(podPrefix+string(uid)), Limits{})
		if err != nil {
			return nil, err
		}
		inodes, err := emptyAndMarked(existing(c))
		switch {
		case err != nil && !vanished(err):
			return nil, err
		case err == nil && inodes != "":
			all = append(all, opened{Leftover{UID: uid, inodes: inodes}, parent.driver, c})
		}
	}
	return all, nil
}

// removeOtherTree removes the leftover of a pod that was made with another driver than its own,
// and the empty parents there: the runtime has changed its driver since. The lock is held.
func (m *Manager) removeOtherTree(own Driver, uid types.UID) error {
	trees, err := m.trees()
	if err != nil || !slices.ContainsFunc(trees, func(d Driver) bool { return d != own }) {
		return err
	}
	all, err := m.leftovers(uid)
	errs := []error{err}
	for _, l := range all {
		if l.driver != own {
			errs = append(errs, l.Destroy())
		}
	}
	return errors.Join(append(errs, m.removeEmptyParents(func(d Driver) bool { return d != own }))...)
}

// emptyAndMarked returns the inodes of directories that podctl made and that have no
// process in them, "" if one of them is not such a directory.
func emptyAndMarked(dirs []string) (inodes string, err error) {
	var all []string
	for _, dir := range dirs {
		pids, err := cgroups.GetAllPids(dir)
		if err != nil {
			return "", err
		}
		if len(pids) > 0 || !marked(dir) {
			return "", nil
		}
		inode, err := inodeOf(dir)
		if err != nil {
			return "", err
		}
		all = append(all, inode)
	}
	slices.Sort(all)
	return strings.Join(all, " "), nil
}

// RemoveLeftover removes a leftover, with what the runtime left below, if it is still
// the same and still has no process. No process is killed.
func (m *Manager) RemoveLeftover(ctx context.Context, l Leftover) error {
	unlock, err := m.lock(ctx) // no podctl makes the pod meanwhile
	if err != nil {
		return fmt.Errorf("remove leftover cgroup of pod %s: %w", l.UID, err)
	}
	defer unlock()
	all, err := m.leftovers(l.UID)
	if i := slices.IndexFunc(all, func(now opened) bool { return now.Leftover == l }); i >= 0 {
		err = all[i].Destroy()
		m.reweigh()
		if err == nil && all[i].driver != m.driver {
			err = m.removeEmptyParents(func(d Driver) bool { return d != m.driver })
		}
	}
	if err != nil {
		return fmt.Errorf("remove leftover cgroup of pod %s: %w", l.UID, err)
	}
	return nil
}
