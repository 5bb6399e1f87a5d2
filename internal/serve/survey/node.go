package survey

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/proc"
)

// NodeOptions say what a Node looks at.
type NodeOptions struct {
	Client *cri.Client
	Paths  host.Paths
	// SkipDirs is that of orphan.Finder.
	SkipDirs bool
	Dial     control.Dialer
	Procs    proc.FS
	Now      func() time.Time
	Log      *slog.Logger
}

// Node is the Source that looks at this machine as `podctl orphans` and
// `podctl terminating` do.
type Node struct {
	finder    orphan.Finder
	reader    *view.Reader
	processes *processes
	client    *cri.Client
}

var _ Source = (*Node)(nil)

// NewNode returns the source of a runtime's machine.
func NewNode(o NodeOptions) *Node {
	n := &Node{
		client: o.Client, processes: newProcesses(o.Client),
		finder: orphan.Finder{
			Asker:  owners.Asker{Locks: o.Paths.Locks, Dial: o.Dial, Procs: o.Procs},
			Client: o.Client, Logs: o.Paths.Logs, Root: o.Paths.Root, SkipDirs: o.SkipDirs,
		},
		reader: &view.Reader{
			PodDirs: o.Paths.Pods(), DirName: o.Paths.Dirs().Name, Asker: owners.Asker{Procs: o.Procs}, Cgroups: cgroup.Mounts, Now: o.Now,
		},
	}
	return n
}

// Look implements Source.
func (n *Node) Look(ctx context.Context) (Findings, error) {
	v, err := n.finder.Look(ctx)
	if err != nil {
		return Findings{}, err
	}
	f := Findings{Findings: orphan.Classify(v.Facts)}
	if f.OrphansUnknown = v.Refusal(); f.OrphansUnknown == nil {
		f.OrphansUnknown = orphan.Undetermined(f.Undetermined)
	}
	if v.DirsUnknown != "" {
		f.DirsUnknown = errors.New(v.DirsUnknown)
	}
	f.Terminating, f.TerminatingUnknown = n.terminating(ctx, v)
	return f, ctx.Err()
}

// terminating returns the pods of a view that are being terminated, and why there
// may be more.
func (n *Node) terminating(ctx context.Context, v *orphan.View) (found []Terminated, unknown error) {
	n.reader.Server, n.reader.Runtime = cri.ServerOf(n.client.Endpoint()), n.processes.begin()
	unanswered := n.reader.SetKubelet(&v.Answers.Kubelet)
	all := slices.Concat(v.Pods, n.reader.UnlistedEndings(v.Pods))
	for _, p := range n.reader.Endings(ctx, all) {
		if p != nil {
			found = append(found, Terminated{Pod: p})
		}
	}
	n.processes.end()
	return found, incomplete(all, unanswered, n.reader.SeesProcesses())
}

// incomplete is why pods may terminate unnoticed, nil if the owner of each has
// answered or its processes are visible. unanswered is why what a kubelet
// terminates is not known.
func incomplete(pods []*view.Pod, unanswered error, visible bool) error {
	for _, p := range pods {
		if p.Manager != nil || p.Runtime == nil || !runs(p.Runtime) {
			continue
		}
		switch itsPod := p.Kind() == view.KindKubelet; {
		case itsPod && unanswered != nil:
			return unanswered
		case !itsPod && !visible:
			return errHidden
		}
	}
	return nil
}

// runs reports whether a container of the pod runs, or may run.
func runs(p *pod.Pod) bool {
	return slices.ContainsFunc(p.Containers, func(c *pod.Container) bool { return c.State == pod.Running || c.State == pod.Unknown })
}

// errHidden: pods without an owner that answers are found by their processes.
var errHidden = errors.New("the processes of containers are not visible: podctl runs in another PID namespace than the runtime")

// processes asks the runtime for the process of each container once: it is the
// same for as long as the container runs. It is safe for concurrent use between
// begin and end.
type processes struct {
	view.Runtime

	mu    sync.Mutex
	known map[string]cri.ContainerProcess
	// asked are the containers that the current scan has asked for.
	asked map[string]bool
}

var _ view.Runtime = (*processes)(nil)

func newProcesses(runtime view.Runtime) *processes {
	return &processes{Runtime: runtime, known: map[string]cri.ContainerProcess{}}
}

// begin begins a scan.
func (p *processes) begin() *processes {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = map[string]bool{}
	return p
}

// end forgets the containers that the scan did not ask for.
func (p *processes) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.known {
		if !p.asked[id] {
			delete(p.known, id)
		}
	}
}

// ContainerProcess implements view.Runtime. A scan that asks twice wants to
// know whether the runtime has noticed an exit, so it gets the runtime's answer.
func (p *processes) ContainerProcess(ctx context.Context, id string) (cri.ContainerProcess, error) {
	if known, ok := p.recall(id); ok {
		return known, nil
	}
	answer, err := p.Runtime.ContainerProcess(ctx, id)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
	if err == nil && answer.PID != 0 {
		p.known[id] = answer
	}
	return answer, err
}

func (p *processes) recall(id string) (cri.ContainerProcess, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.known[id]
	again := p.asked[id]
	p.asked[id] = true
	return known, ok && !again
}
