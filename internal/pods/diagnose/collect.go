package diagnose

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Runtime is what a Collector asks the runtime.
type Runtime interface {
	ContainerProcess(ctx context.Context, id string) (cri.ContainerProcess, error)
	SandboxDetails(ctx context.Context, id string) (cri.Details, error)
}

// Collector reads facts. It is safe for concurrent use.
type Collector struct {
	Runtime Runtime
	// PodDirs is the directory of podctl's pod directories.
	PodDirs string
	// DirName names the pods' directories in it; nil is their UID.
	DirName func(types.UID) string
	Proc    proc.FS
	Cgroups string // mount point of the cgroups
	Now     func() time.Time
	// Server is the process that serves the runtime's socket.
	Server cri.Server
	// Kubelet is what the kubelet that uses the runtime says.
	Kubelet KubeletView
}

const (
	// statusTimeout bounds the runtime's answer about one container or sandbox.
	statusTimeout = 2 * time.Second
	// settleTime is how long a runtime may take to notice that a process has
	// exited before that is reported.
	settleTime = 200 * time.Millisecond
)

// Terminating returns the facts of those pods that are terminating, nil for the
// others. A pod with a live podctl process is terminating if that says so; for
// other pods see Facts.Terminating.
func (c Collector) Terminating(ctx context.Context, pods []*inventory.Pod) []*Facts {
	found := make([]*Facts, len(pods))
	scan := c.newScan()
	var asked []int
	for i, p := range pods {
		if p.Manager == nil || p.Worker.Terminating() {
			asked = append(asked, i)
		}
	}
	collect := func(ctx context.Context, c Collector, i int) {
		if f := c.collect(ctx, pods[i], scan); pods[i].Manager != nil || f.Terminating() {
			found[i] = &f
		}
	}
	errs := cri.ReadEach(ctx, len(asked), func(ctx context.Context, n int) error {
		collect(ctx, c, asked[n])
		return nil
	})
	for n, err := range errs {
		if err != nil {
			silent := c
			silent.Runtime = noAnswerRuntime{err}
			collect(ctx, silent, asked[n])
		}
	}
	c.count(found)
	return found
}

// noAnswerRuntime is a runtime that is not asked.
type noAnswerRuntime struct{ err error }

func (u noAnswerRuntime) ContainerProcess(context.Context, string) (cri.ContainerProcess, error) {
	return cri.ContainerProcess{}, u.err
}

func (u noAnswerRuntime) SandboxDetails(context.Context, string) (cri.Details, error) {
	return cri.Details{}, u.err
}

// count compares the pods that the kubelet is inferred to terminate with the
// number that it counts.
func (c Collector) count(found []*Facts) {
	var unnamed []*Facts
	for _, f := range found {
		if f != nil && f.KubeletTerminates && f.Unnamed {
			unnamed = append(unnamed, f)
		}
	}
	for _, f := range unnamed {
		f.Counted = c.Kubelet.undesired >= len(unnamed)
	}
}

// scan is what all pods of one call share.
type scan struct {
	visible bool
	// children are processes by the PID of their parent, mounts mount points by the
	// directories above them. Both are read at most once.
	children func() map[int][]proc.Process
	mounts   func() map[string][]string
}

func (c Collector) newScan() scan {
	return scan{
		visible: c.SeesProcesses(),
		children: sync.OnceValue(func() map[int][]proc.Process {
			children, _ := c.Proc.ByParent()
			return children
		}),
		mounts: sync.OnceValue(poddir.Mounts),
	}
}

// SeesProcesses reports whether the processes of containers can be examined: a PID
// of the runtime is the same PID here.
func (c Collector) SeesProcesses() bool {
	if c.Server.PID == 0 {
		return false
	}
	same, err := c.Proc.SamePIDNamespace(c.Server.PID)
	return same && err == nil
}

func (c Collector) collect(ctx context.Context, p *inventory.Pod, scan scan) Facts {
	f := Facts{
		Owner: p.Ownership(), OwnerName: p.Creator, OwnerPID: p.Verdict.Process.PID, Name: p.CLIName(), Server: c.Server,
	}
	dir := filepath.Join(c.PodDirs, c.dirName(p.UID))
	var grace *int64
	switch {
	case p.Manager != nil:
		w := p.Worker
		f.Worker, f.Requested = &w, w.StopRequested
		if w.GraceSeconds > 0 {
			grace = &w.GraceSeconds
		}
		if f.Requested.IsZero() {
			f.Requested = w.Since
		}
		if w.LastDone.Before(f.Requested) {
			w.LastError = event.Failure{} // it precedes the termination
		}
	case f.Owner == inventory.OwnedByKubelet:
		f.KubeletTerminates, f.Unnamed = c.Kubelet.terminates(p.GivenUID()), !c.Kubelet.names(p.GivenUID())
		f.Requested, grace = c.Kubelet.deletion(p.GivenUID())
	case f.Owner.IsPodctl():
		if requested, given, ok := poddir.ReadStop(dir); ok {
			f.Requested, grace = requested, given
		}
	}
	if grace != nil && !f.Requested.IsZero() && !f.Requested.After(c.Now()) { // else a clock was set back
		left := time.Duration(*grace)*time.Second - c.Now().Sub(f.Requested)
		f.GraceLeft = &left
	}
	if f.Mounts = c.Kubelet.mounts[p.GivenUID()]; f.Owner != inventory.OwnedByKubelet {
		f.Mounts = scan.mounts()[dir]
	}
	if p.Runtime == nil {
		return f
	}
	f.SandboxReady, f.Sandbox = p.SandboxReady(), p.Sandbox()
	f.Containers = c.containers(ctx, p.Runtime, scan)
	if f.Owner == inventory.OwnedByKubelet && len(f.Containers) > 0 && c.Kubelet.finished(p.GivenUID()) {
		f.KubeletTerminates = true
	}
	if (f.asked() || f.Owner == inventory.OwnedByOther) && !f.SandboxReady && f.Sandbox != "" && len(f.Containers) == 0 {
		f.NetworkHeld = c.networkHeld(ctx, f.Sandbox)
	}
	return f
}

// Unlisted returns pods that are terminating although the runtime lists nothing
// of them: those of a kubelet with a volume that is still mounted.
func (c Collector) Unlisted(listed []*inventory.Pod) []*inventory.Pod {
	return c.Kubelet.unlisted(listed)
}

// containers are those of the pod that may run.
func (c Collector) containers(ctx context.Context, p *pod.Pod, scan scan) []Container {
	var listed []*pod.Container
	for _, ct := range p.Containers {
		if ct.State == pod.Running || ct.State == pod.Unknown {
			listed = append(listed, ct)
		}
	}
	all := make([]Container, len(listed))
	errs := cri.ReadEach(ctx, len(listed), func(ctx context.Context, i int) error {
		all[i] = c.container(ctx, listed[i], scan)
		return nil
	})
	for i, err := range errs {
		if err != nil {
			all[i] = Container{Name: listed[i].Name, ID: listed[i].ID, Err: err}
		}
	}
	return all
}

func (c Collector) container(ctx context.Context, ct *pod.Container, scan scan) Container {
	d := Container{Name: ct.Name, ID: ct.ID}
	info, err := c.status(ctx, ct.ID)
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
	d.Process, err = c.Proc.Read(d.PID)
	gone := errors.Is(err, proc.ErrGone)
	exited := gone || d.Process.State.Ended()
	switch {
	case exited && !c.exitedUnnoticed(ctx, ct.ID, d.PID), err != nil && !gone:
		d.Hidden = true
	case gone:
		d.Gone = true
	default:
		c.examine(&d, scan)
	}
	return d
}

func (c Collector) status(ctx context.Context, id string) (cri.ContainerProcess, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	return c.Runtime.ContainerProcess(ctx, id)
}

// networkHeld reports whether the runtime says that a sandbox that does not run still
// has its network.
func (c Collector) networkHeld(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	details, err := c.Runtime.SandboxDetails(ctx, id)
	return err == nil && details.NetworkHeld
}

// exitedUnnoticed reports whether the runtime still reports an exited process
// after it had time to notice the exit.
func (c Collector) exitedUnnoticed(ctx context.Context, id string, pid int) bool {
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	select {
	case <-settled.C:
	case <-ctx.Done():
		return false
	}
	again, err := c.status(ctx, id)
	return err == nil && again.PID == pid
}

// examine reads what surrounds the first process of a container.
func (c Collector) examine(d *Container, scan scan) {
	first := d.Process
	group := cgroupsOf(c.Proc, c.Cgroups, first.PID)
	d.Frozen = group.frozenBy()
	if shim, err := c.Proc.Read(first.Parent); err == nil && shim.IsShim() {
		d.Shim = shim
	}
	pids := group.processes()
	for _, pid := range pids {
		p, err := c.Proc.Read(pid)
		if err != nil || pid == first.PID {
			continue
		}
		if d.Hook.PID == 0 && !slices.Contains(pids, p.Parent) && c.isShim(p.Parent) {
			d.Hook = p
		}
		if p.State == proc.Uninterruptible && first.State != proc.Uninterruptible && !first.State.Ended() && (d.killed(p) || d.killed(first)) {
			d.Process = p
		}
	}
	d.WaitChannel = c.Proc.WaitChannel(d.Process.PID)
	if d.Shim.PID != 0 {
		c.findKill(d, scan.children()[d.Shim.PID])
	}
}

// isShim reports whether a process is a shim: that of the container, or the conmon of an exec.
func (c Collector) isShim(pid int) bool {
	p, err := c.Proc.Read(pid)
	return err == nil && p.IsShim()
}

// findKill looks for a low-level runtime that delivers a signal to the
// container: a child of the shim.
func (c Collector) findKill(d *Container, children []proc.Process) {
	for _, p := range children {
		args, err := c.Proc.Command(p.PID)
		if err != nil || p.PID == d.PID || !slices.Contains(args, "kill") || !slices.Contains(args, d.ID) {
			continue
		}
		started, err := c.Proc.Started(p)
		if err != nil {
			continue
		}
		d.Kill, d.KillAge = p, c.Now().Sub(started)
		return
	}
}

func (c Collector) dirName(uid types.UID) string {
	if c.DirName == nil {
		return string(uid)
	}
	return c.DirName(uid)
}
