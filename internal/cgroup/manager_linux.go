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

	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/manager"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Manager makes and removes the cgroups of pods. It holds no state but its
// settings.
type Manager struct {
	root    string
	driver  Driver
	unified bool
	runDir  string
	log     *slog.Logger
}

// New checks the options. Nothing is made before the first pod.
func New(o Options) (*Manager, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("open cgroups: %w", err)
	}
	return &Manager{root: o.Root, driver: o.Driver, unified: cgroups.IsCgroup2UnifiedMode(), runDir: o.RunDir, log: o.Log}, nil
}

// Ensure makes the pod's cgroup, with the pod's limits, and the parents that it
// lacks. One that exists is left as it is (EnsureExists in
// pkg/kubelet/cm/pod_container_manager_linux.go).
func (m *Manager) Ensure(ctx context.Context, p *v1.Pod) error {
	if err := checkElement("uid", string(p.UID)); err != nil {
		return fmt.Errorf("make pod cgroup: %w", err)
	}
	parent := parentOf(m.root, p)
	n := parent.child(podPrefix + string(p.UID))
	unlock, err := m.lock(ctx)
	if err == nil {
		defer unlock()
		err = m.ensureParents(parent)
	}
	if err == nil {
		err = m.ensure(n, PodLimits(p), requested(p))
	}
	if err != nil {
		return fmt.Errorf("make pod cgroup %s: %w", n.path(m.driver), err)
	}
	m.reweigh()
	return nil
}

// ensureParents makes the root and, below it, the parent of a class.
func (m *Manager) ensureParents(parent name) error {
	var limits Limits
	if parent[len(parent)-1] == besteffort {
		limits.CPUShares = pod.MinCPUShares
	}
	if len(parent) > 1 {
		if err := m.ensureUnbounded(name{m.root}, Limits{}); err != nil {
			return err
		}
	}
	return m.ensureUnbounded(parent, limits)
}

// unboundedHugepages is what the kubelet writes for no limit.
const unboundedHugepages = int64(1) << 62

// ensureUnbounded makes a parent, which leaves huge pages to its pods.
func (m *Manager) ensureUnbounded(n name, l Limits) error {
	l.Hugepages = map[int64]int64{}
	for _, size := range cgroups.HugePageSizes() {
		l.Hugepages[pageSize(size)] = unboundedHugepages
	}
	return m.ensure(n, l, isParent)
}

// ensure makes a cgroup and marks it with a text.
func (m *Manager) ensure(n name, l Limits, mark string) error {
	c, err := m.open(n, l)
	if err != nil {
		return err
	}
	before := existing(c)
	if len(before) == len(c.GetPaths()) && m.hasControllers(n) {
		return nil
	}
	// A pid of -1 makes the directories and moves no process.
	if err := c.Apply(-1); err != nil {
		return err
	}
	// The library leaves out the one for devices, and runc would make it,
	// unmarked.
	if dir := c.GetPaths()["devices"]; dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	m.mark(c, before, mark)
	if err := c.Set(m.resources(l, c)); err != nil {
		m.log.Warn("set cgroup limits", "cgroup", n.path(m.driver), "err", err)
	}
	return nil
}

// List returns every pod that has a cgroup, whichever program created it.
func (m *Manager) List() ([]types.UID, error) {
	found := map[types.UID]bool{}
	for _, parent := range parents(m.root) {
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
				if uid, ok := podUID(e.Name(), m.driver); ok && e.IsDir() {
					found[uid] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// open is the library's view of a cgroup, which need not exist.
func (m *Manager) open(n name, l Limits) (cgroups.Manager, error) {
	config := &cgroups.Cgroup{
		Systemd:   m.driver == Systemd,
		Resources: m.resources(l, nil),
	}
	if !config.Systemd {
		config.Path = n.path(m.driver)
		return manager.New(config)
	}
	dir, slice := path.Split(n.path(m.driver))
	if config.Parent, config.Name = path.Base(dir), slice; dir == "/" {
		config.Parent = "-.slice"
	}
	return manager.New(config)
}

// existing are the directories of c that exist, in any order.
func existing(c cgroups.Manager) []string {
	var out []string
	for _, dir := range c.GetPaths() {
		if cgroups.PathExists(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// hasControllers reports whether a v2 cgroup has all controllers that the root
// has and pods need.
func (m *Manager) hasControllers(n name) bool {
	if !m.unified {
		return true
	}
	have := controllers(filepath.Join(Mounts, n.path(m.driver)))
	for _, c := range controllers(Mounts) {
		if slices.Contains(neededControllers, c) && !slices.Contains(have, c) {
			return false
		}
	}
	return true
}

var neededControllers = []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}

// controllers are those of a v2 directory, none if it cannot be read.
func controllers(dir string) []string {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
