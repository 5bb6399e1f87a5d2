package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/sys/proc"
)

// ContainerProcess is what is seen of a container that is running according to the runtime.
type ContainerProcess struct {
	Name, ID string
	// Err is why the runtime did not report the container.
	Err error
	// PID is the first process according to the runtime, 0 if it reports none.
	PID int
	// Hidden: the PID cannot be looked up from podctl's PID namespace, the process
	// must not be read, or it has just exited. Nothing below is known then.
	Hidden bool
	// Gone: no process has the PID, although the runtime still reports it.
	Gone bool
	// Process is the first process, or one of the container's processes that
	// cannot be killed. WaitChannel is the kernel function in which it sleeps.
	Process     proc.Process
	WaitChannel string
	// Shim is the parent of the first process if that is a shim; PID 0 if not.
	Shim proc.Process
	// Kill is a child of the shim that delivers a signal (runc kill); PID 0 if
	// there is none. KillAge is how long it has been running.
	Kill    proc.Process
	KillAge time.Duration
	// Frozen is the cgroup directory that freezes the container, "" if none.
	Frozen string
	// PreStop: the container has a preStop hook. Hook is a process that was
	// started in the container by an exec, PID 0 if there is none.
	PreStop bool
	Hook    proc.Process
	// Grace is the grace period with which it was created, nil if unknown.
	Grace *time.Duration
	// StopSignal is the name of the signal by which the runtime asks it to end, "" where
	// that is not known: SIGTERM, then.
	StopSignal string
	// Denied is what the kernel's log says that it was denied, the last first.
	Denied []denied.Group
}

// Known reports whether the first process was read.
func (c *ContainerProcess) Known() bool { return c.Err == nil && c.PID != 0 && !c.Hidden }

func (s silentRuntime) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	return cri.ContainerProcess{}, s.err
}

// endingContainers reads the processes of the containers of a pod that may run.
func (r *Reader) endingContainers(ctx context.Context, p *pod.Pod, runtime ProcessRuntime, scan processScan) []ContainerProcess {
	var listed []*pod.Container
	for _, ct := range p.Containers {
		if ct.State == pod.Running || ct.State == pod.Unknown {
			listed = append(listed, ct)
		}
	}
	all := make([]ContainerProcess, len(listed))
	errs := cri.ReadEach(ctx, len(listed), func(ctx context.Context, i int) error {
		all[i] = r.endingContainer(ctx, listed[i], runtime, scan)
		return nil
	})
	for i, err := range errs {
		if err != nil {
			all[i] = ContainerProcess{Name: listed[i].Name, ID: listed[i].ID, Err: err}
		}
	}
	return all
}

func (r *Reader) endingContainer(ctx context.Context, ct *pod.Container, runtime ProcessRuntime, scan processScan) ContainerProcess {
	d := ContainerProcess{Name: ct.Name, ID: ct.ID}
	info, err := processOf(ctx, runtime, ct.ID)
	if err != nil {
		d.Err = err
		return d
	}
	d.PID, d.PreStop, d.Grace, d.StopSignal = info.PID, info.PreStop, info.Grace, info.StopSignal
	if d.PID == 0 {
		return d
	}
	if !scan.visible {
		d.Hidden = true
		return d
	}
	d.Process, err = r.Procs.Read(d.PID)
	gone := errors.Is(err, proc.ErrGone)
	exited := gone || d.Process.State.Ended()
	switch {
	case exited && !exitedUnnoticed(ctx, runtime, ct.ID, d.PID), err != nil && !gone:
		d.Hidden = true
	case gone:
		d.Gone = true
	default:
		r.examine(&d, scan)
		if all := scan.denials(); len(all) > 0 {
			d.Denied = denied.Of(all, r.running(all, d.ID, d.PID, time.Time{}))
		}
	}
	return d
}

func processOf(ctx context.Context, runtime ProcessRuntime, id string) (cri.ContainerProcess, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return runtime.ContainerProcess(ctx, id)
}

// exitedUnnoticed reports whether the runtime still reports an exited process
// after it had time to notice the exit.
func exitedUnnoticed(ctx context.Context, runtime ProcessRuntime, id string, pid int) bool {
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-settled.C:
	case <-ctx.Done():
		return false
	}
	again, err := processOf(ctx, runtime, id)
	return err == nil && again.PID == pid
}

// examine reads what surrounds the first process of a container.
func (r *Reader) examine(d *ContainerProcess, scan processScan) {
	first := d.Process
	group := cgroupsOf(r.Procs, r.Cgroups, first.PID)
	d.Frozen = group.frozenBy()
	if shim, err := r.Procs.Read(first.Parent); err == nil && shim.IsShim() {
		d.Shim = shim
	}
	pids := group.processes()
	for _, pid := range pids {
		p, err := r.Procs.Read(pid)
		if err != nil || pid == first.PID {
			continue
		}
		if d.Hook.PID == 0 && !slices.Contains(pids, p.Parent) && r.isShim(p.Parent) {
			d.Hook = p
		}
		if p.State == proc.Uninterruptible && first.State != proc.Uninterruptible && !first.State.Ended() && (d.Killed(p) || d.Killed(first)) {
			d.Process = p
		}
	}
	d.WaitChannel = r.Procs.WaitChannel(d.Process.PID)
	if d.Shim.PID != 0 {
		r.findKill(d, scan.children()[d.Shim.PID])
	}
}

// isShim reports whether a process is a shim: that of the container, or the conmon of an exec.
func (r *Reader) isShim(pid int) bool {
	p, err := r.Procs.Read(pid)
	return err == nil && p.IsShim()
}

// findKill looks for a low-level runtime that delivers a signal to the
// container: a child of the shim.
func (r *Reader) findKill(d *ContainerProcess, children []proc.Process) {
	for _, p := range children {
		args, err := r.Procs.Command(p.PID)
		if err != nil || p.PID == d.PID || !slices.Contains(args, "kill") || !slices.Contains(args, d.ID) {
			continue
		}
		started, err := r.Procs.Started(p)
		if err != nil {
			continue
		}
		d.Kill, d.KillAge = p, r.Now().Sub(started)
		return
	}
}

// The kernel's first and last real-time signals, as programs that use glibc or musl
// count them.
const (
	sigRTMin = 34
	sigRTMax = 64
)

// SignalToStop returns the signal by which the runtime asks the container to end, and its name:
// SIGTERM unless the runtime says another one. It is 0 for a name that is not known.
func (c *ContainerProcess) SignalToStop() (syscall.Signal, string) {
	name := cmp.Or(c.StopSignal, "SIGTERM")
	for prefix, from := range map[string]int{"SIGRTMIN": sigRTMin, "SIGRTMAX": sigRTMax} {
		if offset, ok := strings.CutPrefix(name, prefix); ok {
			n, _ := strconv.Atoi(offset) // "" is 0
			return syscall.Signal(from + n), name
		}
	}
	return unix.SignalNum(name), name
}

// Killed reports whether a process of the container has the stop signal pending, or
// SIGKILL.
func (c *ContainerProcess) Killed(p proc.Process) bool {
	signal, _ := c.SignalToStop()
	return p.Pending.Has(signal) || p.Pending.Has(syscall.SIGKILL)
}
