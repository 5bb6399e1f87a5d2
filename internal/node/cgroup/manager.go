package cgroup

import (
	"fmt"
	"log/slog"

	v1 "k8s.io/api/core/v1"
)

// Options make a Manager.
type Options struct {
	// Root names the cgroup above all pods, one element; "" is DefaultRoot.
	Root string
	// Driver is the runtime's; "" is Cgroupfs. DriverOf returns that of a pod, whose runtime
	// handler may have another one; nil is Driver for all.
	Driver   Driver
	DriverOf func(*v1.Pod) Driver
	// RunDir is a directory that only podctl can open, the same for all podctls
	// of a host: a lock on it keeps them apart. "" keeps only the goroutines of this
	// process apart.
	RunDir string
	// Log gets what the kubelet only logs: a limit that the kernel refused.
	// Nil logs nothing.
	Log *slog.Logger
}

func (o *Options) complete() error {
	if o.Root == "" {
		o.Root = DefaultRoot
	}
	if o.Driver == "" {
		o.Driver = Cgroupfs
	}
	if o.DriverOf == nil {
		o.DriverOf = func(*v1.Pod) Driver { return o.Driver }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Driver != Cgroupfs && o.Driver != Systemd {
		return fmt.Errorf("cgroup driver %q is neither %s nor %s", o.Driver, Cgroupfs, Systemd)
	}
	return checkElement("cgroup root", o.Root)
}

// Parent returns the cgroup of the pod as the runtime is told it: see the function
// Parent.
func (m *Manager) Parent(p *v1.Pod) string { return Parent(m.root, m.driverOf(p), p) }
