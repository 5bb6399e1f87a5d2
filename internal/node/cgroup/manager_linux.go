package cgroup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	"github.com/opencontainers/cgroups/systemd"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Manager makes and removes the cgroups of pods. It holds no state but its
// settings, and where the hierarchies are.
type Manager struct {
	root     string
	driver   Driver
	driverOf func(*v1.Pod) Driver
	unified  bool
	runDir   string
	log      *slog.Logger
	// rootPaths are the root's directories by controller with Cgroupfs, for which the library
	// looks through all mounts. Slices are left to the library.
	rootPaths func() (map[string]string, error)
}

// New checks the options. Nothing is made before the first pod.
func New(o Options) (*Manager, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("open cgroups: %w", err)
	}
	m := &Manager{root: o.Root, driver: o.Driver, driverOf: o.DriverOf, unified: cgroups.IsCgroup2UnifiedMode(), runDir: o.RunDir, log: o.Log}
	m.rootPaths = sync.OnceValues(func() (map[string]string, error) {
		c, err := manager.New(&cgroups.Cgroup{Path: name{m.root}.path(Cgroupfs), Resources: m.resources(Limits{}, nil)})
		if err != nil {
			return nil, err
		}
		return c.GetPaths(), nil
	})
	return m, nil
}

// Ensure makes the pod's cgroup, with the pod's limits, and the parents that it
// lacks. One that exists is left as it is (EnsureExists in
// pkg/kubelet/cm/pod_container_manager_linux.go).
func (m *Manager) Ensure(ctx context.Context, p *v1.Pod) error {
	if err := checkElement("uid", string(p.UID)); err != nil {
		return fmt.Errorf("make pod cgroup: %w", err)
	}
	parent := group{m.driverOf(p), parentOf(m.root, p)}
	if parent.driver == Systemd && !systemd.IsRunningSystemd() {
		return errors.New("make pod cgroup: its driver is systemd, which does not run here")
	}
	g := parent.child(podPrefix + string(p.UID))
	unlock, err := m.lock(ctx)
	if err == nil {
		defer unlock()
		err = m.ensureWithParents(parent, g, p)
	}
	if err != nil {
		return fmt.Errorf("make pod cgroup %s: %w", g.path(), err)
	}
	if parent.name[len(parent.name)-1] == burstable {
		m.reweigh()
	}
	if err := m.removeOtherTree(g.driver, p.UID); err != nil {
		m.log.Warn("remove cgroup of another driver", "uid", p.UID, "err", err)
	}
	return nil
}

// ensureAttempts bounds how often a pod's cgroup is tried whose parents vanish.
const ensureAttempts = 10

// ensureWithParents makes the pod's cgroup and its parents. A podctl with another run
// directory, and so another lock, may remove parents that hold no pod yet.
func (m *Manager) ensureWithParents(parent, g group, p *v1.Pod) error {
	known := inodes{}
	for _, each := range []group{{g.driver, name{m.root}}, parent, g} {
		c, err := m.open(each, Limits{})
		if err != nil {
			return err
		}
		known.add(c.GetPaths())
	}
	var err error
	for range ensureAttempts {
		if err = m.ensureParents(parent, known); err == nil {
			err = m.ensure(g, PodLimits(p), requested(p), known)
		}
		if !vanished(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	// They hold a pod now, and stay: those that vanished and were made on the way to
	// the pod's get their limits and marks.
	return m.ensureParents(parent, known)
}

// ensureParents makes the root and, below it, the parent of a class.
func (m *Manager) ensureParents(parent group, known inodes) error {
	var limits Limits
	if parent.name[len(parent.name)-1] == besteffort {
		limits.CPUShares = pod.MinCPUShares
	}
	if len(parent.name) > 1 {
		if err := m.ensureUnbounded(group{parent.driver, name{m.root}}, Limits{}, known); err != nil {
			return err
		}
	}
	return m.ensureUnbounded(parent, limits, known)
}

// unboundedHugepages is what the kubelet writes for no limit.
const unboundedHugepages = int64(1) << 62

// ensureUnbounded makes a parent, which leaves huge pages to its pods.
func (m *Manager) ensureUnbounded(g group, l Limits, known inodes) error {
	l.Hugepages = map[int64]int64{}
	for _, size := range cgroups.HugePageSizes() {
		l.Hugepages[pageSize(size)] = unboundedHugepages
	}
	return m.ensure(g, l, isParent, known)
}

// ensure makes a cgroup and marks with a text those of its directories that are not
// known. One whose directories are all known, or marked, is left as it is.
func (m *Manager) ensure(g group, l Limits, mark string, known inodes) error {
	c, err := m.open(g, l)
	if err != nil {
		return err
	}
	made := m.hasControllers(g)
	for _, dir := range c.GetPaths() {
		made = made && (known.has(dir) || marked(dir))
	}
	if made {
		return nil
	}
	// A pid of -1 makes the directories and moves no process.
	if err := c.Apply(-1); err != nil {
		return err
	}
	// The library leaves out the one for devices, which runc would make, unmarked, and
	// does not say that a named hierarchy has none.
	var unknown []string
	for controller, dir := range c.GetPaths() {
		switch err := os.MkdirAll(dir, 0o755); {
		case vanished(err) || err != nil && controller == "devices":
			return err
		case err == nil && !known.has(dir):
			unknown = append(unknown, dir)
		}
	}
	m.mark(unknown, mark)
	if err := c.Set(m.resources(l, c)); err != nil {
		m.log.Warn("set cgroup limits", "cgroup", g.path(), "err", err)
	}
	return nil
}

// trees are the drivers with which the root was made: both where the runtime has changed its
// driver, or has a handler with another one.
func (m *Manager) trees() ([]Driver, error) {
	paths, err := m.rootPaths()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc([]Driver{Cgroupfs, Systemd}, func(d Driver) bool {
		for _, dir := range paths {
			if cgroups.PathExists(filepath.Join(filepath.Dir(dir), name{m.root}.path(d))) {
				return false
			}
		}
		return true
	}), nil
}

// parents returns the cgroups that hold pods, the root of each tree last.
func (m *Manager) parents() (all []group, err error) {
	trees, err := m.trees()
	for _, d := range trees {
		all = append(all, group{d, name{m.root, besteffort}}, group{d, name{m.root, burstable}}, group{d, name{m.root}})
	}
	return all, err
}

// List returns every pod that has a cgroup, whichever program created it.
func (m *Manager) List() ([]types.UID, error) {
	found := map[types.UID]bool{}
	parents, err := m.parents()
	if err != nil {
		return nil, fmt.Errorf("list pod cgroups: %w", err)
	}
	for _, parent := range parents {
		c, err := m.open(parent, Limits{})
		if err != nil {
			return nil, fmt.Errorf("list pod cgroups: %w", err)
		}
		for _, dir := range existing(c) {
			entries, err := os.ReadDir(dir)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, fmt.Errorf("list pod cgroups: %w", err)
			}
			for _, e := range entries {
				if uid, ok := podUID(e.Name(), parent.driver); ok && e.IsDir() {
					found[uid] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// open returns the library's view of a cgroup, which need not exist.
func (m *Manager) open(g group, l Limits) (cgroups.Manager, error) {
	config := &cgroups.Cgroup{
		Systemd:   g.driver == Systemd && systemd.IsRunningSystemd(), // else what an earlier one left
		Resources: m.resources(l, nil),
	}
	if !config.Systemd {
		config.Path = g.path()
		root, err := m.rootPaths()
		if err != nil {
			return nil, err
		}
		paths := maps.Clone(root)
		for controller, dir := range paths {
			paths[controller] = filepath.Join(filepath.Dir(dir), g.path())
		}
		return manager.NewWithPaths(config, paths)
	}
	dir, slice := path.Split(g.path())
	if config.Parent, config.Name = path.Base(dir), slice; dir == "/" {
		config.Parent = "-.slice"
	}
	return manager.New(config)
}

// existing returns the directories of c that exist, in any order.
func existing(c cgroups.Manager) []string {
	var out []string
	for _, dir := range c.GetPaths() {
		if cgroups.PathExists(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// inodes are those of directories, by path.
type inodes map[string]string

// add adds those of the directories that exist.
func (known inodes) add(paths map[string]string) {
	for _, dir := range paths {
		if inode, err := inodeOf(dir); err == nil {
			known[dir] = inode
		}
	}
}

// has reports whether the directory is the same as when it was added.
func (known inodes) has(dir string) bool {
	was, added := known[dir]
	if !added {
		return false
	}
	inode, err := inodeOf(dir)
	return err == nil && was == inode
}

// inodeOf identifies a directory, also among those of other hierarchies.
func inodeOf(dir string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return "", &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino), nil
}

// hasControllers reports whether a v2 cgroup has all controllers that the root
// has and pods need.
func (m *Manager) hasControllers(g group) bool {
	if !m.unified {
		return true
	}
	have := controllers(filepath.Join(Mounts, g.path()))
	for _, c := range controllers(Mounts) {
		if slices.Contains(neededControllers, c) && !slices.Contains(have, c) {
			return false
		}
	}
	return true
}

var neededControllers = []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}

// controllers returns those of a v2 directory, none if it cannot be read.
func controllers(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
