package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// Leftover returns the pod's cgroup if podctl made it and no process is in it or
// below; ok is false otherwise. Whether the pod exists is for the caller to know.
func (m *Manager) Leftover(uid types.UID) (l Leftover, ok bool, err error) {
	if err := checkElement("uid", string(uid)); err != nil {
		return Leftover{}, false, nil // no name of a pod cgroup of podctl
	}
	l, _, err = m.leftover(uid)
	if err != nil {
		return Leftover{}, false, fmt.Errorf("examine pod cgroup: %w", err)
	}
	return l, l.inodes != "", nil
}

// leftover returns the leftover cgroup of a pod, the zero Leftover if it is not one.
func (m *Manager) leftover(uid types.UID) (Leftover, cgroups.Manager, error) {
	for _, parent := range parents(m.root) {
		c, err := m.open(parent.child(podPrefix+string(uid)), Limits{})
		if err != nil {
			return Leftover{}, nil, err
		}
		dirs := existing(c)
		if len(dirs) == 0 {
			continue
		}
		inodes, err := emptyAndMarked(dirs)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
			err = nil // it is being removed
		}
		if inodes == "" || err != nil {
			return Leftover{}, nil, err
		}
		return Leftover{UID: uid, inodes: inodes}, c, nil
	}
	return Leftover{}, nil, nil
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
	now, c, err := m.leftover(l.UID)
	if err == nil && now == l {
		err = c.Destroy()
		m.reweigh()
	}
	if err != nil {
		return fmt.Errorf("remove leftover cgroup of pod %s: %w", l.UID, err)
	}
	return nil
}
