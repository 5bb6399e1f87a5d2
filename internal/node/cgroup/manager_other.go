//go:build !linux

package cgroup

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Manager makes and removes the cgroups of pods; there are none on this
// system.
type Manager struct {
	root     string
	driverOf func(*v1.Pod) Driver
}

var errNeedsLinux = errors.New("pod cgroups need linux")

// New always fails.
func New(Options) (*Manager, error) { return nil, errNeedsLinux }

// Ensure always fails.
func (*Manager) Ensure(context.Context, *v1.Pod) error { return errNeedsLinux }

// Wanted returns what the pod's cgroup would enforce.
func (*Manager) Wanted(p *v1.Pod) pod.CgroupAmounts { return PodLimits(p).Amounts() }

// Enforced always fails.
func (*Manager) Enforced(*v1.Pod) (pod.CgroupAmounts, error) {
	return pod.CgroupAmounts{}, errNeedsLinux
}

// MemoryUsed always fails.
func (*Manager) MemoryUsed(*v1.Pod) (int64, error) { return 0, errNeedsLinux }

// Resize always fails.
func (*Manager) Resize(context.Context, *v1.Pod, pod.CgroupAmounts) error { return errNeedsLinux }

// Remove always fails.
func (*Manager) Remove(context.Context, types.UID) error { return errNeedsLinux }

// List always fails.
func (*Manager) List() ([]types.UID, error) { return nil, errNeedsLinux }

// RemoveEmptyParents always fails.
func (*Manager) RemoveEmptyParents() error { return errNeedsLinux }

// Leftover always fails.
func (*Manager) Leftover(types.UID) (l Leftover, ok bool, err error) {
	return Leftover{}, false, errNeedsLinux
}

// RemoveLeftover always fails.
func (*Manager) RemoveLeftover(context.Context, Leftover) error { return errNeedsLinux }
