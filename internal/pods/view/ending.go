package view

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/denied"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Ending is what is seen of the end of a pod that is, or may be, terminated.
type Ending struct {
	// KubeletTerminates: the kubelet answered, and it has been told to terminate
	// the pod.
	KubeletTerminates bool
	// Unnamed: KubeletTerminates is inferred from the kubelet's silence. Counted: the kubelet's
	// metric confirms that number of such pods.
	Unnamed, Counted bool
	// Requested is when termination began, zero if unknown. GraceLeft is the
	// rest of the grace period, negative once it is exceeded, nil if unknown.
	Requested time.Time
	GraceLeft *time.Duration
	// LastError is how the last operation of its podctl process failed since then.
	LastError event.Failure
	// Containers are those that are running according to the runtime.
	Containers   []ContainerProcess
	Sandbox      string // id of the newest sandbox
	SandboxReady bool
	// NetworkHeld: that sandbox is not ready, and its network has not been torn down.
	// containerd stops a sandbox before it tears down its network.
	NetworkHeld bool
	// Mounts are the mount points in the pod's directory.
	Mounts []string
}

// StopRecorded reports whether a podctl process that does not answer has recorded that it stops
// the pod.
func (p *Pod) StopRecorded() bool {
	return p.Manager == nil && p.Ownership().IsPodctl() && !p.Ending.Requested.IsZero()
}

// Terminating reports whether the pod is being terminated: its live podctl process says so, or
// there is evidence.
func (p *Pod) IsEnding() bool {
	e := &p.Ending
	switch {
	case p.Manager != nil:
		return p.Worker.Terminating()
	case e.KubeletTerminates && (e.SandboxReady || e.NetworkHeld || len(e.Containers) > 0 || len(e.Mounts) > 0):
		return true
	case p.StopRecorded() && (e.SandboxReady || e.NetworkHeld || len(e.Containers) > 0):
		return true
	case p.Ownership() == OwnedByOther && e.NetworkHeld:
		return true
	case !e.SandboxReady && len(e.Containers) > 0:
		return true
	}
	return slices.ContainsFunc(e.Containers, func(c ContainerProcess) bool {
		// A shim that is stopped or has ended answers no request to stop.
		return c.Known() && (c.Gone || c.Process.State.Ended() || c.Killed(c.Process) || c.Kill.PID != 0) || c.Shim.State == proc.Stopped || c.Shim.State.Ended()
	})
}

const (
	// statusTimeout bounds the runtime's answer about one container or sandbox.
	statusTimeout = 2 * time.Second
	// settleTime is how long a runtime may take to notice that a process has
	// exited before that is reported.
	settleTime = 200 * time.Millisecond
)

// Endings returns those of the pods that are terminating, nil for the others, with what is seen
// of their end alone.
func (r *Reader) Endings(ctx context.Context, pods []*Pod) []*Pod {
	found, scan := make([]*Pod, len(pods)), r.newProcessScan()
	var asked []int
	for i, p := range pods {
		if p.Manager == nil || p.Worker.Terminating() {
			asked = append(asked, i)
		}
	}
	read := func(ctx context.Context, i int, runtime ProcessRuntime) {
		p := pods[i].seen()
		p.Owner, p.Server, p.Ending = ownerOf(p), r.Server, r.ending(ctx, pods[i], runtime, scan)
		if p.IsEnding() {
			found[i] = p
		}
	}
	errs := cri.ReadEach(ctx, len(asked), func(ctx context.Context, n int) error {
		read(ctx, asked[n], r.Runtime)
		return nil
	})
	for n, err := range errs {
		if err != nil {
			read(ctx, asked[n], silentRuntime{err})
		}
	}
	r.countUndesired(found)
	return found
}

// silentRuntime is a runtime that is not asked.
type silentRuntime struct{ err error }

func (s silentRuntime) SandboxDetails(context.Context, string) (cri.Details, error) {
	return cri.Details{}, s.err
}

// countUndesired compares the pods that the kubelet is inferred to terminate with the
// number that it counts.
func (r *Reader) countUndesired(found []*Pod) {
	var unnamed []*Pod
	for _, p := range found {
		if p != nil && p.Ending.KubeletTerminates && p.Ending.Unnamed {
			unnamed = append(unnamed, p)
		}
	}
	for _, p := range unnamed {
		p.Ending.Counted = r.ofKubelet.undesired >= len(unnamed)
	}
}

// processScan is what all pods of one call share.
type processScan struct {
	visible bool
	// children are processes by the PID of their parent, mounts mount points by the
	// directories above them. Both are read at most once.
	children func() map[int][]proc.Process
	mounts   func() map[string][]string
	// denials are what the kernel's log says was denied, if it is read.
	denials func() []denied.Denial
}

func (r *Reader) newProcessScan() processScan {
	return processScan{
		visible: r.SeesProcesses(),
		children: sync.OnceValue(func() map[int][]proc.Process {
			children, _ := r.Procs.ByParent()
			return children
		}),
		mounts: sync.OnceValue(poddir.Mounts),
		denials: sync.OnceValue(func() []denied.Denial {
			if !r.Denials || r.Recorded {
				return nil
			}
			log, _ := r.KernelLog() // what it does not say decides nothing
			return denials(log)
		}),
	}
}

// SeesProcesses reports whether the processes of containers can be examined: a PID
// of the runtime is the same PID here.
func (r *Reader) SeesProcesses() bool {
	same, err := r.Procs.SamePIDNamespace(r.Server.PID)
	return r.Server.PID != 0 && same && err == nil
}

// readEnding reads what the termination of a pod waits for.
func (r *Reader) readEnding(ctx context.Context, s *Sources) error {
	if s.Kind() == KindKubelet && r.kubelet != nil && r.kubeletErr != nil {
		return r.kubeletErr
	}
	s.Ending = r.ending(ctx, s.Pod, r.Runtime, r.newProcessScan())
	return nil
}

func (r *Reader) ending(ctx context.Context, p *Pod, runtime ProcessRuntime, scan processScan) Ending {
	e, name := Ending{}, string(p.UID)
	if r.DirName != nil {
		name = r.DirName(p.UID)
	}
	dir := filepath.Join(r.PodDirs, name)
	var grace *int64
	switch by := p.Ownership(); {
	case p.Manager != nil:
		w := &p.Worker
		if e.Requested = w.StopRequested; e.Requested.IsZero() {
			e.Requested = w.Since
		}
		if w.GraceSeconds > 0 {
			grace = &w.GraceSeconds
		}
		if !w.LastDone.Before(e.Requested) { // else it precedes the termination
			e.LastError = w.LastError
		}
	case by == OwnedByKubelet:
		e.KubeletTerminates, e.Unnamed = r.ofKubelet.terminates(p.GivenUID()), !r.ofKubelet.names(p.GivenUID())
		e.Requested, grace = r.ofKubelet.deletion(p.GivenUID())
	case by.IsPodctl():
		if requested, given, ok := poddir.ReadStop(dir); ok {
			e.Requested, grace = requested, given
		}
	}
	if grace != nil && !e.Requested.IsZero() && !e.Requested.After(r.Now()) { // else a clock was set back
		left := time.Duration(*grace)*time.Second - r.Now().Sub(e.Requested)
		e.GraceLeft = &left
	}
	ofKubelet := p.Ownership() == OwnedByKubelet
	if e.Mounts = r.ofKubelet.mounts[p.GivenUID()]; !ofKubelet {
		e.Mounts = scan.mounts()[dir]
	}
	if p.Runtime == nil {
		return e
	}
	e.SandboxReady, e.Sandbox = p.SandboxReady(), p.SandboxID()
	e.Containers = r.endingContainers(ctx, p.Runtime, runtime, scan)
	if ofKubelet && len(e.Containers) > 0 && r.ofKubelet.finished(p.GivenUID()) {
		e.KubeletTerminates = true
	}
	asked := p.Manager != nil || e.KubeletTerminates || p.Ownership() == OwnedByOther || p.Ownership().IsPodctl() && !e.Requested.IsZero()
	if asked && !e.SandboxReady && e.Sandbox != "" && len(e.Containers) == 0 {
		e.NetworkHeld = networkHeld(ctx, runtime, e.Sandbox)
	}
	return e
}

// networkHeld reports whether the runtime says that a sandbox that does not run still
// has its network.
func networkHeld(ctx context.Context, runtime ProcessRuntime, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	details, err := runtime.SandboxDetails(ctx, id)
	return err == nil && details.NetworkHeld
}
