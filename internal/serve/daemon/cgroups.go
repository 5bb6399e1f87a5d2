package daemon

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/pod"
)

// CgroupOptions say where pod cgroups are.
type CgroupOptions struct {
	// Root is the cgroup above all pods, "" for one of this runtime. Podctls
	// that share a root would remove each other's pods.
	Root string
	// Runtime is the id of the runtime, "" for that of its endpoint.
	Runtime string
	// Driver is cgroupfs or systemd, "" for the one that the runtime names. A
	// runtime that names none is taken to use cgroupfs, as the kubelet does.
	Driver string
	// RunDir is podctl's run directory, the one of all runtimes.
	RunDir string
	Log    *slog.Logger
}

// OpenCgroups returns the pod cgroups of a runtime.
func OpenCgroups(ctx context.Context, client *cri.Client, o CgroupOptions) (node.Cgroups, error) {
	if client.Endpoint().Runtime == cri.SimEndpoint || client.Connected().Name == sim.Name {
		return NoCgroups{}, nil
	}
	if o.Driver == "" {
		var err error
		if o.Driver, err = client.CgroupDriver(ctx); err != nil && !errors.Is(err, cri.ErrUnsupported) {
			return nil, err
		}
	}
	root := cmp.Or(o.Root, host.CgroupRoot(cmp.Or(o.Runtime, host.RuntimeID(client.Endpoint().Runtime))))
	return cgroup.New(cgroup.Options{Root: root, Driver: cgroup.Driver(o.Driver), RunDir: o.RunDir, Log: o.Log})
}

// NoCgroups is for a simulated runtime, whose containers have no processes.
type NoCgroups struct{}

var _ node.Cgroups = NoCgroups{}

// Parent implements node.Cgroups.
func (NoCgroups) Parent(*v1.Pod) string { return "" }

// Ensure implements node.Cgroups.
func (NoCgroups) Ensure(context.Context, *v1.Pod) error { return nil }

// Wanted implements node.Cgroups.
func (NoCgroups) Wanted(p *v1.Pod) pod.CgroupAmounts { return cgroup.PodLimits(p).Amounts() }

// Enforced implements node.Cgroups.
func (NoCgroups) Enforced(*v1.Pod) (pod.CgroupAmounts, error) { return pod.CgroupAmounts{}, nil }

// MemoryUsed implements node.Cgroups.
func (NoCgroups) MemoryUsed(*v1.Pod) (int64, error) { return 0, nil }

// Resize implements node.Cgroups.
func (NoCgroups) Resize(context.Context, *v1.Pod, pod.CgroupAmounts) error { return nil }

// Remove implements node.Cgroups.
func (NoCgroups) Remove(context.Context, types.UID) error { return nil }

// RemoveEmptyParents implements node.Cgroups.
func (NoCgroups) RemoveEmptyParents() error { return nil }

// List implements node.Cgroups.
func (NoCgroups) List() ([]types.UID, error) { return nil, nil }

// Leftover implements node.Cgroups.
func (NoCgroups) Leftover(types.UID) (l cgroup.Leftover, ok bool, err error) {
	return cgroup.Leftover{}, false, nil
}

// RemoveLeftover implements node.Cgroups.
func (NoCgroups) RemoveLeftover(context.Context, cgroup.Leftover) error { return nil }
