package usage

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Runtime is what a Sampler asks the runtime.
type Runtime interface {
	ContainerStats(ctx context.Context) ([]cri.ContainerStats, error)
	SandboxStats(ctx context.Context) ([]cri.SandboxStats, error)
}

const (
	// statsTimeout bounds the runtime's answer: one container that hangs may hold it up.
	statsTimeout = 2 * time.Second
	// statsAge is how old the answer about writable layers may be: the runtimes
	// measure them every ten seconds.
	statsAge = 10 * time.Second
)

// Sampler reads snapshots.
type Sampler struct {
	Runtime Runtime
	Proc    proc.FS
	Cgroups string // mount point of the cgroups
	Now     func() time.Time

	tree *cgroup.Tree
	// stats is the runtime's last answer, by id of the container.
	stats   map[string]cri.ContainerStats
	statsAt time.Time
	// lastTimeout is the error of the runtime that it is not asked again for, for statsAge
	// after failedAt.
	lastTimeout error
	failedAt    time.Time
}

// Snapshot reads the pods as they are now. With an error, that of the runtime, what
// the host shows is there.
func (s *Sampler) Snapshot(ctx context.Context, pods []*pod.Pod) (Snapshot, error) {
	snap := Snapshot{Containers: map[string]Sample{}, Networks: map[string]Network{}, Limits: map[types.UID]Limits{}, PSI: map[types.UID]pod.PSI{}}
	s.findCgroups(pods)
	var hidden, fresh bool // containers that no cgroup shows; that the runtime has not reported
	hiddenNetwork := false
	for _, p := range pods {
		pid := 0
		for c := range running(p) {
			sample, first := s.container(c.ID)
			if first == 0 {
				hidden = true
			} else {
				snap.Containers[c.ID] = sample
				pid = first
			}
			if _, known := s.stats[c.ID]; !known {
				fresh = true
			}
		}
		if group := s.tree.Pod(p); group != "" {
			cpu, memory := s.tree.Enforced(group)
			snap.Limits[p.UID], snap.PSI[p.UID] = Limits{cpu, memory}, s.tree.PSI(group)
		} else if pid != 0 {
			snap.PSI[p.UID] = pod.PSI{Unknown: "the pod has no cgroup of its own"}
		}
		if !s.network(&snap, p, pid) {
			hiddenNetwork = true
		}
	}
	if s.lastTimeout != nil && s.Now().Sub(s.failedAt) < statsAge {
		s.fillFromStats(&snap, pods)
		return snap, s.lastTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	var err error
	if hidden || fresh || s.Now().Sub(s.statsAt) > statsAge {
		err = s.askContainers(ctx)
	}
	s.fillFromStats(&snap, pods)
	if hiddenNetwork {
		err = errors.Join(err, s.askSandboxes(ctx, &snap, pods))
	}
	if s.lastTimeout = nil; errors.Is(err, cri.ErrDeadline) {
		s.lastTimeout, s.failedAt = err, s.Now()
	}
	return snap, err
}

// findCgroups scans the cgroups unless it is known where those of all running
// containers are.
func (s *Sampler) findCgroups(pods []*pod.Pod) {
	if s.tree != nil {
		missing := false
		for _, p := range pods {
			for c := range running(p) {
				missing = missing || s.tree.Container(c.ID) == ""
			}
		}
		if !missing {
			return
		}
	}
	tree, err := cgroup.Scan(s.Cgroups)
	if err != nil {
		tree = &cgroup.Tree{} // the runtime is asked instead
	}
	s.tree = tree
}

// container reads a container's cgroup and returns one of its processes; 0 if none
// of them is visible, which makes the sample worthless.
func (s *Sampler) container(id string) (Sample, int) {
	group := s.tree.Container(id)
	if group == "" {
		return Sample{}, 0
	}
	pid := s.tree.Process(group)
	if pid == 0 {
		return Sample{}, 0
	}
	now, read := s.Now(), s.tree.Stat(group)
	return Sample{
		Source: FromCgroup, At: now, CPU: read.CPU, Periods: read.Periods, Throttled: read.Throttled,
		Memory: read.WorkingSet, Swap: read.Swap, PIDs: read.PIDs, PSI: s.tree.PSI(group), Limits: Limits{read.CPULimit, read.MemoryLimit},
	}, pid
}

// network reads the network of a pod by one of its processes, and reports whether
// it is known, or known to be the host's.
func (s *Sampler) network(snap *Snapshot, p *pod.Pod, pid int) bool {
	if len(p.Sandboxes) == 0 || p.Sandboxes[0].State != pod.Running {
		return true
	}
	id := p.Sandboxes[0].ID
	if pid == 0 {
		if group := s.tree.Container(id); group != "" {
			pid = s.tree.Process(group)
		}
	}
	if pid == 0 {
		return false
	}
	theirs, err := s.Proc.Namespace(pid, "net")
	if err != nil {
		return false
	}
	if host, err := s.Proc.Namespace(1, "net"); err == nil && host == theirs {
		return true
	}
	n, err := s.Proc.Network(pid)
	if err != nil {
		return false
	}
	snap.Networks[id] = Network{Source: FromCgroup, At: s.Now(), Rx: n.Rx, Tx: n.Tx}
	return true
}

// askContainers keeps the runtime's answer about all containers.
func (s *Sampler) askContainers(ctx context.Context) error {
	all, err := s.Runtime.ContainerStats(ctx)
	if errors.Is(err, cri.ErrUnsupported) {
		err = nil
	}
	if err != nil {
		return err
	}
	s.stats, s.statsAt = make(map[string]cri.ContainerStats, len(all)), s.Now()
	for _, c := range all {
		s.stats[c.ID] = c
	}
	return nil
}

// fillFromStats adds what the runtime reports: the writable layers, and all of the
// containers that no cgroup shows.
func (s *Sampler) fillFromStats(snap *Snapshot, pods []*pod.Pod) {
	for _, p := range pods {
		for c := range running(p) {
			stats, reported := s.stats[c.ID]
			sample, visible := snap.Containers[c.ID]
			switch {
			case !reported:
				continue
			case !visible:
				sample = Sample{Source: FromRuntime, At: stats.At, CPU: stats.CPU, Memory: stats.WorkingSet, Swap: stats.Swap, PSI: stats.PSI}
				if sample.PSI == (pod.PSI{}) {
					sample.PSI = hiddenPSI
				}
			}
			sample.Disk = stats.WritableLayer
			snap.Containers[c.ID] = sample
		}
	}
}

// hiddenPSI is that of a container or pod that neither a cgroup nor the runtime shows.
var hiddenPSI = pod.PSI{Unknown: "no cgroup is visible, and the runtime reports no PSI"}

// askSandboxes adds the networks and the PSI that the host does not show.
func (s *Sampler) askSandboxes(ctx context.Context, snap *Snapshot, pods []*pod.Pod) error {
	all, err := s.Runtime.SandboxStats(ctx)
	if err != nil && !errors.Is(err, cri.ErrUnsupported) {
		return err
	}
	psi := make(map[string]pod.PSI, len(all))
	for _, n := range all {
		if _, known := snap.Networks[n.ID]; !known && !n.At.IsZero() {
			snap.Networks[n.ID] = Network{Source: FromRuntime, At: n.At, Rx: n.Rx, Tx: n.Tx}
		}
		psi[n.ID] = n.PSI
	}
	for _, p := range pods {
		if len(p.Sandboxes) == 0 || p.Sandboxes[0].State != pod.Running {
			continue
		}
		// What the runtime does not report leaves the reason of the host.
		if read := snap.PSI[p.UID]; read == (pod.PSI{}) || read.Unknown != "" {
			snap.PSI[p.UID] = cmp.Or(psi[p.Sandboxes[0].ID], read, hiddenPSI)
		}
	}
	return nil
}

// running returns the containers of a pod that run.
func running(p *pod.Pod) iter.Seq[*pod.Container] {
	return func(yield func(*pod.Container) bool) {
		for _, c := range p.Containers {
			if c.State == pod.Running && !yield(c) {
				return
			}
		}
	}
}
