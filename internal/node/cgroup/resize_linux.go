package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Wanted returns what the pod's cgroup is to enforce.
func (m *Manager) Wanted(p *v1.Pod) pod.CgroupAmounts { return PodLimits(p).Amounts() }

// Enforced reads what the pod's cgroup enforces (GetPodCgroupConfig in
// pkg/kubelet/cm/pod_container_manager_linux.go).
func (m *Manager) Enforced(p *v1.Pod) (pod.CgroupAmounts, error) {
	c, err := m.openPod(p)
	if err != nil {
		return pod.CgroupAmounts{}, fmt.Errorf("read limits of pod cgroup: %w", err)
	}
	r := reader{paths: c.GetPaths()}
	var a pod.CgroupAmounts
	if m.unified {
		a.Memory = r.limit("", "memory.max")
		a.CPUQuota = r.limit("", "cpu.max")
		a.CPUShares = shares(r.limit("", "cpu.weight"))
	} else {
		a.Memory = r.limit("memory", "memory.limit_in_bytes")
		a.CPUQuota = max(0, r.limit("cpu", "cpu.cfs_quota_us"))
		a.CPUShares = r.limit("cpu", "cpu.shares")
		if a.Memory >= unlimited {
			a.Memory = 0
		}
	}
	if r.err != nil {
		return pod.CgroupAmounts{}, fmt.Errorf("read limits of pod cgroup: %w", r.err)
	}
	return a, nil
}

// MemoryUsed reads how many bytes the pod uses, caches included.
func (m *Manager) MemoryUsed(p *v1.Pod) (int64, error) {
	c, err := m.openPod(p)
	if err != nil {
		return 0, fmt.Errorf("read memory of pod cgroup: %w", err)
	}
	r := reader{paths: c.GetPaths()}
	controller, file := "memory", "memory.usage_in_bytes"
	if m.unified {
		controller, file = "", "memory.current"
	}
	used := r.limit(controller, file)
	if r.err != nil {
		return 0, fmt.Errorf("read memory of pod cgroup: %w", r.err)
	}
	return used, nil
}

// Resize writes those amounts that are not 0 to the pod's cgroup.
func (m *Manager) Resize(ctx context.Context, p *v1.Pod, a pod.CgroupAmounts) error {
	c, err := m.openPod(p)
	if err != nil {
		return fmt.Errorf("resize pod cgroup: %w", err)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return fmt.Errorf("resize pod cgroup: %w", err)
	}
	defer unlock()
	l := Limits{CPUShares: uint64(a.CPUShares), CPUQuota: a.CPUQuota, Memory: a.Memory}
	if l.CPUQuota != 0 {
		l.CPUPeriod = pod.CPUPeriod
	}
	if err := c.Set(m.resources(l, nil)); err != nil {
		return fmt.Errorf("resize pod cgroup: %w", err)
	}
	if a.CPUShares != 0 {
		m.remark(c, requested(p))
		m.reweigh()
	}
	return nil
}

// remark changes the mark of the directories that podctl marked.
func (m *Manager) remark(c cgroups.Manager, text string) {
	m.mark(slices.DeleteFunc(existing(c), func(dir string) bool { return !marked(dir) }), text)
}

func (m *Manager) openPod(p *v1.Pod) (cgroups.Manager, error) {
	if err := checkElement("uid", string(p.UID)); err != nil {
		return nil, err
	}
	return m.open(group{m.driverOf(p), parentOf(m.root, p)}.child(podPrefix+string(p.UID)), Limits{})
}

// reader reads files of one cgroup, and keeps the first error.
type reader struct {
	paths map[string]string
	err   error
}

// limit returns the first number of a file, 0 for "max".
func (r *reader) limit(controller, file string) int64 {
	if r.err != nil {
		return 0
	}
	if r.paths[controller] == "" {
		r.err = errors.New("no " + file + " there")
		return 0
	}
	b, err := os.ReadFile(filepath.Join(r.paths[controller], file))
	if err != nil {
		r.err = err
		return 0
	}
	words := strings.Fields(string(b))
	if len(words) == 0 || words[0] == "max" {
		return 0
	}
	n, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		r.err = err
	}
	return n
}
