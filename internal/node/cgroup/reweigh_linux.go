package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podctl/podctl/internal/pod"
)

// requested returns the CPU time that a pod requests, in thousandths of a CPU: the
// mark of its cgroup, from which any podctl can add up what all pods request.
func requested(p *v1.Pod) string {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	return strconv.FormatInt(requests.Cpu().MilliValue(), 10)
}

// reweigh gives the parent of burstable pods the weight that its pods request
// together, whichever podctl made them (setCPUCgroupConfig in
// pkg/kubelet/cm/qos_container_manager_linux.go). A parent that another program
// made is left alone. The lock is held. What fails is logged: the pods run all
// the same, and the next burstable pod that comes, or pod that goes, tries again.
func (m *Manager) reweigh() {
	trees, err := m.trees()
	for _, d := range trees {
		err = errors.Join(err, m.reweighTree(group{d, name{m.root, burstable}}))
	}
	if err != nil {
		m.log.Warn("set the weight of burstable pods", "err", err)
	}
}

func (m *Manager) reweighTree(g group) error {
	c, err := m.open(g, Limits{})
	if err != nil {
		return err
	}
	for _, dir := range existing(c) {
		if marked(dir) {
			return c.Set(m.resources(Limits{CPUShares: uint64(pod.CPUShares(requestedBelow(dir, g.driver)))}, nil))
		}
	}
	return nil
}

// requestedBelow adds up what the pods in a directory request. One without a
// mark that says it counts as nothing.
func requestedBelow(dir string, d Driver) int64 {
	entries, _ := os.ReadDir(dir) // it has gone, and its weight with it
	var sum int64
	for _, e := range entries {
		if _, ok := podUID(e.Name(), d); !ok || !e.IsDir() {
			continue
		}
		mark := make([]byte, 32)
		size, err := unix.Getxattr(filepath.Join(dir, e.Name()), markName, mark)
		if err != nil {
			continue
		}
		milli, err := strconv.ParseInt(string(mark[:size]), 10, 64)
		if err == nil {
			sum += milli
		}
	}
	return sum
}
