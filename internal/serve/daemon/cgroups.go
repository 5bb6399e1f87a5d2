package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// CgroupOptions say where pod cgroups are.
type CgroupOptions struct {
	// Root is the cgroup above all pods, "" for one of this runtime. Podctls
	// that share a root would remove each other's pods.
	Root string
	// Runtime is the id of the runtime, Fingerprint its fingerprint. "" are those of the client's.
	Runtime, Fingerprint string
	// Driver is cgroupfs or systemd, "" for the one of the runtime: see CgroupDrivers.
	Driver string
	// Handler returns the runtime handler of a pod, which may have a driver of its own; nil is
	// the default one for all.
	Handler func(*v1.Pod) string
	// RunDir is podctl's run directory, the one of all runtimes.
	RunDir string
	Log    *slog.Logger
}

// OpenCgroups returns the pod cgroups of a runtime.
func OpenCgroups(ctx context.Context, client *cri.Client, o CgroupOptions) (node.Cgroups, error) {
	if client.IsSimulated() {
		return NoCgroups{}, nil
	}
	drivers, err := cgroupDrivers(ctx, client, o)
	if err != nil {
		return nil, err
	}
	if o.Root == "" {
		if o.Root, err = o.rootOf(ctx, client, cgroup.Mounts); err != nil {
			return nil, err
		}
	}
	options := cgroup.Options{Root: o.Root, Driver: cgroup.Driver(drivers.Default), RunDir: o.RunDir, Log: o.Log}
	if o.Handler != nil {
		options.DriverOf = func(p *v1.Pod) cgroup.Driver { return cgroup.Driver(drivers.Of(o.Handler(p))) }
	}
	return cgroup.New(options)
}

// cgroupDrivers returns the given driver, else those of the runtime. If it does not say, that of
// a kubelet which uses it, else what systemd as the first process suggests: the runtime may
// refuse it then.
func cgroupDrivers(ctx context.Context, client *cri.Client, o CgroupOptions) (cri.CgroupDrivers, error) {
	if o.Driver != "" {
		return cri.CgroupDrivers{Default: o.Driver}, nil
	}
	drivers, err := client.CgroupDrivers(ctx)
	if err != nil && !errors.Is(err, cri.ErrUnsupported) || drivers.Default != "" {
		return drivers, err
	}
	assumed, why := cri.DriverCgroupfs, "systemd is not the first process"
	if proc.Default.Comm(1) == "systemd" {
		assumed, why = cri.DriverSystemd, "systemd is the first process"
	}
	if k, err := kubelet.Find(ctx, client.Endpoint().Runtime); err == nil && k != nil && k.CgroupDriver() != "" {
		assumed, why = k.CgroupDriver(), "the kubelet that uses it is configured so"
	}
	if o.Log != nil {
		o.Log.Warn("the runtime does not name its cgroup driver: see --cgroup-driver", "assumed", assumed, "because", why)
	}
	drivers.Default = assumed
	return drivers, nil
}

// rootOf returns the root of a runtime's pods. Pods that run below another one of podctl's names stay
// there, with those that come: that of an earlier version, or from before the runtime's storage moved.
func (o CgroupOptions) rootOf(ctx context.Context, client *cri.Client, mounts string) (string, error) {
	if o.Runtime == "" {
		o.Runtime = host.RuntimeID(client.Endpoint().Runtime)
		identity, _ := owners.Identify(ctx, client) // then it is known by its socket
		o.Fingerprint = identity.Fingerprint()
	}
	root := host.CgroupRoot(o.Runtime, o.Fingerprint)
	if !hasOtherRoots(mounts, root) {
		return root, nil
	}
	tree, err := cgroup.Scan(mounts)
	if err != nil {
		return "", err
	}
	listed, err := client.ListPods(ctx)
	if err != nil {
		return "", err
	}
	found := root
	for _, p := range listed {
		for id := range p.IDs() {
			top, _, _ := strings.Cut(strings.TrimPrefix(tree.Container(id), "/"), "/")
			switch at := host.CgroupRootAt(top); at {
			case "":
			case root:
				return root, nil
			default:
				found = at
			}
		}
	}
	return found, nil
}

// hasOtherRoots reports whether a runtime has a root of podctl's other than this one.
func hasOtherRoots(mounts, root string) bool {
	for _, top := range []string{mounts, filepath.Join(mounts, "memory")} {
		entries, _ := os.ReadDir(top) // without the hierarchy there is none
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			at := host.CgroupRootAt(e.Name())
			return at != "" && at != root
		}) {
			return true
		}
	}
	return false
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
