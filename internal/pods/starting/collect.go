package starting

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/pulls"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/diagnose"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Runtime is what a Collector asks the runtime, beside what package describe asks.
type Runtime interface {
	Status(ctx context.Context) (cri.RuntimeStatus, error)
	ImageStatus(ctx context.Context, image string) (*pod.Image, error)
}

// Collector reads facts. Its methods are not safe for concurrent use.
type Collector struct {
	Describe describe.Collector
	// Runtime is nil if the runtime does not answer.
	Runtime Runtime
	Proc    proc.FS
	Cgroups string // mount point of the cgroups
	Server  cri.Server
	// Kubelet is what is known of the kubelet of the runtime, nil if it was not asked.
	Kubelet *owners.Kubelet

	// Pulls returns the pulls in flight, nil reads none.
	Pulls func(ctx context.Context) ([]pulls.Pull, error)
	// Log returns the end of the log of a process; nil reads none.
	Log func(ctx context.Context, pid int) ([]byte, error)
	Now func() time.Time

	paths   paths
	sampler *pullSampler
}

// statusTimeout bounds an answer of the runtime.
const statusTimeout = 2 * time.Second

// Unlisted returns the pods of which the runtime lists nothing: those that the kubelet
// desires, and those for which a process below the runtime works.
func (c *Collector) Unlisted(s Scan, listed []*inventory.Pod) []*inventory.Pod {
	known := map[types.UID]bool{}
	for _, p := range listed {
		known[p.GivenUID()] = true
	}
	var found []*inventory.Pod
	if c.Kubelet != nil {
		for _, object := range c.Kubelet.Pods {
			if known[object.UID] || object.DeletionTimestamp != nil || pod.IsTerminal(object.Status.Phase) {
				continue
			}
			known[object.UID] = true
			found = append(found, &inventory.Pod{
				UID: object.UID, Namespace: object.Namespace, Name: object.Name, Object: object,
				Verdict: owners.Verdict{Relation: owners.Desires, Kind: owners.ByKubelet, Source: c.Kubelet.Source},
			})
		}
	}
	for _, h := range s.helpers {
		if h.Role != RoleCNI || h.Verb != "ADD" || h.pod.UID == "" || h.pod.Name == "" || known[h.pod.UID] {
			continue // a shim may be another runtime's
		}
		known[h.pod.UID] = true
		found = append(found, &inventory.Pod{UID: h.pod.UID, Namespace: h.pod.Namespace, Name: h.pod.Name})
	}
	return found
}

// Starting returns the facts of those pods that should run and do not, nil for the others.
func (c *Collector) Starting(ctx context.Context, s Scan, pods []*inventory.Pod) []*Facts {
	found := make([]*Facts, len(pods))
	var asked []int
	for i, p := range pods {
		if mayBeStarting(p) {
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return found
	}
	notReady := c.networkNotReady(ctx)
	_ = cri.ReadEach(ctx, len(asked), func(ctx context.Context, n int) error {
		i := asked[n]
		f := &Facts{Facts: c.Describe.Collect(ctx, pods[i]), By: pods[i].Ownership(), OwnerPID: pods[i].Verdict.Process.PID, Name: pods[i].CLIName(), Server: c.Server}
		if f.Starting() {
			c.add(ctx, f, pods[i], s)
			f.NotReady, found[i] = notReady, f
		}
		return nil
	})
	if c.sampler == nil {
		c.sampler = &pullSampler{list: c.Pulls, now: c.Now}
	}
	c.sampler.addPulls(ctx, found)
	c.addLogErrors(ctx, found)
	holders := holdersOf(pods)
	for _, f := range found {
		if f != nil {
			f.Holder = holders
		}
	}
	return found
}

// mayBeStarting reports whether a pod needs a closer look: not one all of whose containers are
// ready, or that has ended.
func mayBeStarting(p *inventory.Pod) bool {
	d := p.Display()
	switch {
	case p.Terminating():
		return false
	case p.Manager != nil && p.Worker.Rejected != "":
		return !p.Worker.Stopped
	case p.Manager != nil && (p.Worker.Stopped || p.Worker.Finished() || pod.IsTerminal(p.Worker.PodPhase)):
		return false
	case p.Manager != nil:
		return p.Worker.NotReady != "" || d.Ready < d.Containers || d.Containers == 0
	case p.Object != nil:
		return !pod.IsTerminal(p.Object.Status.Phase) && (d.Ready < d.Containers || d.Containers == 0)
	}
	return p.Runtime == nil || p.RunningContainers() == 0 || p.Creator != ""
}

// add adds what is seen beside the runtime's and the owner's answers.
func (c *Collector) add(ctx context.Context, f *Facts, p *inventory.Pod, s Scan) {
	f.Hidden = s.hidden
	for _, h := range s.helpers {
		if isOfPod(&h, p) {
			f.Processes = append(f.Processes, h.Process)
		}
	}
	if s.hidden == nil {
		f.Frozen = c.frozen(f)
	}
	f.Paths = c.paths.check(ctx, c.rootOf(p), f.Volumes)
	f.Absent = c.absentImages(ctx, f)
}

// frozen returns the file of the cgroup that freezes the sandbox or a container, "" if none does.
func (c *Collector) frozen(f *Facts) string {
	var pids []int
	if f.Sandbox != nil {
		pids = append(pids, f.Sandbox.PID)
	}
	for i := range f.Containers {
		pids = append(pids, f.Containers[i].PID)
	}
	for _, pid := range pids {
		if pid == 0 {
			continue
		}
		if file := diagnose.FrozenBy(c.Proc, c.Cgroups, pid); file != "" {
			return file
		}
	}
	return ""
}

// isOfPod reports whether a process works for the pod.
func isOfPod(h *helper, p *inventory.Pod) bool {
	switch {
	case h.Role == RoleMount:
		return p.UID != "" && slices.ContainsFunc(h.Command, func(a string) bool { return strings.Contains(a, string(p.GivenUID())) })
	case p.Runtime != nil && h.id != "":
		if _, known := p.Runtime.IDs()[h.id]; known {
			return true
		}
	}
	return h.pod.UID != "" && h.pod == pod.Identity{Namespace: p.Namespace, Name: p.Name, UID: p.GivenUID()}
}

// rootOf returns the root directory of the pod's owner, by which podctl sees its paths.
func (c *Collector) rootOf(p *inventory.Pod) string {
	if c.Describe.Recorded {
		return string(c.Proc) // which has no files of the host
	}
	if p.Kind() != inventory.KindKubelet || c.Kubelet == nil || c.Kubelet.Process == nil {
		return "/"
	}
	return c.Proc.Root(c.Kubelet.Process.PID)
}

// absentImages returns the images of containers that wait which the runtime does not have.
func (c *Collector) absentImages(ctx context.Context, f *Facts) []string {
	if c.Runtime == nil || f.readySandbox() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var absent []string
	for i := range f.Containers {
		ct := &f.Containers[i]
		if ct.ID != "" || ct.Image == "" || slices.Contains(absent, ct.Image) {
			continue
		}
		if image, err := c.Runtime.ImageStatus(ctx, ct.Image); err == nil && image == nil {
			absent = append(absent, ct.Image)
		}
	}
	return absent
}

// networkNotReady returns why the runtime's network does not work, "" if it does or that is
// not known.
func (c *Collector) networkNotReady(ctx context.Context) string {
	if c.Runtime == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	s, err := c.Runtime.Status(ctx)
	if err != nil || s.Network.OK {
		return ""
	}
	return joined(": ", s.Network.Reason, s.Network.Message)
}

// holdersOf returns the listed pods by the ids of their sandboxes and containers.
func holdersOf(pods []*inventory.Pod) map[string]string {
	names := map[string]string{}
	for _, p := range pods {
		if p.Runtime == nil {
			continue
		}
		for id := range p.Runtime.IDs() {
			names[id] = p.DisplayName()
		}
	}
	return names
}
