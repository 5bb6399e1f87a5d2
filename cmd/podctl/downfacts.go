package main

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// downPod is a pod on its way down, and what is known of it.
type downPod struct {
	*inventory.Pod
	facts downFacts
}

// pidTimeout is how long the runtime may take to tell of a container.
const pidTimeout = 2 * time.Second

// collector gathers facts: what the runtime and /proc show.
type collector struct {
	client *cri.Client
	// pods is the directory of pod directories, proc is /proc.
	pods, proc string
	now        func() time.Time
	// runtimePID is the process that serves the runtime's socket.
	runtimePID int
}

// down are those of the pods that are on their way down. A pod that a living
// podctl manages is if that says so. Another one is if its podctl died while it
// ended it; if its sandbox has stopped before its containers; and if one of
// them has ended, or was told to, though the runtime says that it runs.
func (c collector) down(ctx context.Context, pods []*inventory.Pod) []*downPod {
	found := make([]*downPod, len(pods))
	var g errgroup.Group
	g.SetLimit(16)
	for i, h := range pods {
		if h.Manager != nil && !h.Terminating() {
			continue
		}
		g.Go(func() error {
			d := &downPod{Pod: h, facts: c.collect(ctx, h)}
			if h.Manager != nil || d.facts.goesDown() {
				found[i] = d
			}
			return nil
		})
	}
	_ = g.Wait() // there are none
	return slices.DeleteFunc(found, func(d *downPod) bool { return d == nil })
}

// goesDown tells it of a pod that no living podctl manages.
func (f downFacts) goesDown() bool {
	if f.creator != "" && !f.since.IsZero() && (f.sandboxReady || len(f.containers) > 0) {
		return true
	}
	if !f.sandboxReady && len(f.containers) > 0 {
		return true
	}
	return slices.ContainsFunc(f.containers, func(c downContainer) bool {
		p := c.process
		return p.pid != 0 && (p.state == 0 || p.state == 'Z' || p.state == 'X' || p.pending)
	})
}

func (c collector) collect(ctx context.Context, h *inventory.Pod) downFacts {
	f := downFacts{name: h.DisplayName(), runtimePID: c.runtimePID}
	dir := filepath.Join(c.pods, string(h.UID))
	grace := (*int64)(nil)
	switch {
	case h.Manager != nil:
		f.worker, f.since = &h.Worker, h.Worker.StopRequested
		if h.Worker.GraceSeconds > 0 {
			grace = &h.Worker.GraceSeconds
		}
		if f.since.IsZero() {
			f.since = h.Worker.Since
		}
		if h.Worker.LastDone.Before(f.since) {
			h.Worker.LastError = event.Failure{} // of what went on before
		}
	case h.Abandoned():
		f.creator = h.Creator
		if requested, given, ok := podrecord.ReadStop(dir); ok {
			f.since, grace = requested, given
		}
	}
	if grace != nil && !f.since.IsZero() {
		left := time.Duration(*grace)*time.Second - c.now().Sub(f.since)
		f.graceLeft = &left
	}
	if mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir)); err == nil {
		for _, m := range mounts {
			f.mounts = append(f.mounts, m.Mountpoint)
		}
	}
	if h.Runtime == nil {
		return f
	}
	f.sandboxReady = h.SandboxReady()
	if len(h.Runtime.Sandboxes) > 0 {
		f.sandbox = h.Runtime.Sandboxes[0].ID
	}
	for _, ct := range h.Runtime.Containers {
		if ct.State == pod.Running {
			f.containers = append(f.containers, c.container(ctx, ct))
		}
	}
	return f
}

func (c collector) container(ctx context.Context, ct *pod.Container) downContainer {
	ctx, cancel := context.WithTimeout(ctx, pidTimeout)
	defer cancel()
	d := downContainer{name: ct.Name, id: ct.ID}
	pid, err := c.client.ContainerPID(ctx, ct.ID)
	if err != nil {
		d.err = err
		return d
	}
	if pid == 0 {
		return d
	}
	first := readProcess(c.proc, pid)
	if first.parent != 0 && isShim(commName(c.proc, first.parent)) {
		d.shim, d.shimState = first.parent, readProcess(c.proc, first.parent).state
	}
	d.process = worst(c.proc, first)
	return d
}
