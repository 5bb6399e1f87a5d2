package view

import (
	"cmp"
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// IsStarting reports whether the pod should run and does not, or is not ready.
func (f *Pod) IsStarting() bool {
	switch w := &f.Worker; {
	case f.Manager != nil && (w.Stopped || w.Terminating() || w.Finished()), f.IsEnding(), f.Status == pod.StatusTerminating:
		return false
	case w.Rejected != "", slices.ContainsFunc(f.Containers, func(c Container) bool { return c.IsBroken() }):
		return true
	case f.Phase == string(v1.PodSucceeded), f.Phase == string(v1.PodFailed), f.Phase == string(pod.PhaseExited):
		return false
	case f.Manager == nil && f.Ownership() != OwnedByKubelet:
		return f.unstarted()
	case w.NotReady != "":
		return true
	}
	return len(f.Containers) == 0 || f.Pending() != nil
}

// unstarted reports whether a pod whose owner does not say how far it is has been created, and not
// started: no container of it ever ran or, where its spec is known, one has yet to.
func (f *Pod) unstarted() bool {
	hasRun := func(c Container) bool {
		return c.State != Created && c.State != "" && (c.State != Waiting || c.ID != "")
	}
	if f.Spec == nil || len(f.Containers) == 0 {
		return !slices.ContainsFunc(f.Containers, hasRun)
	}
	return slices.ContainsFunc(f.Containers, func(c Container) bool { return c.Kind != KindEphemeral && !hasRun(c) })
}

// Pending returns the first container that is not as it should be, nil if all are. Init
// containers count until a regular one was created.
func (f *Pod) Pending() *Container {
	initialized := slices.ContainsFunc(f.Containers, func(c Container) bool {
		return (c.Kind == KindRegular || c.Kind == "") && c.ID != ""
	})
	// One that has failed says more than one that has yet to begin.
	var first *Container
	for i := range f.Containers {
		c := &f.Containers[i]
		if c.Kind == KindEphemeral || c.Kind == KindInit && initialized || f.isUp(c) {
			continue
		}
		if first == nil || rank(c) > rank(first) {
			first = c
		}
	}
	return first
}

// rank is how much a container that is not up says about what its pod waits for.
func rank(c *Container) int {
	switch {
	case c.State == Waiting && c.Reason != "" && !IsPlain(c.Reason), c.State == Terminated:
		return 3
	case c.State == Created, c.State == Running:
		return 2
	case c.Kind == KindInit:
		return 1
	}
	return 0
}

// IsPlain reports whether the reason for which a container waits says nothing.
func IsPlain(reason string) bool { return reason == "ContainerCreating" || reason == "PodInitializing" }

// isUp reports whether a container has done what its pod needs of it to be ready.
func (f *Pod) isUp(c *Container) bool {
	switch c.State {
	case Running:
		return !c.IsBroken() && c.Kind != KindInit && (c.Ready == nil || *c.Ready)
	case Terminated:
		policy := ""
		if f.Spec != nil {
			policy = f.Spec.RestartPolicy
		}
		ok := c.End != nil && c.End.ExitCode == 0
		switch v1.RestartPolicy(policy) {
		case v1.RestartPolicyNever:
			return c.Kind != KindInit || ok
		case v1.RestartPolicyOnFailure:
			return ok
		case v1.RestartPolicyAlways:
			return c.Kind == KindInit && ok
		}
		return true // it has run, and no owner is known that desires it
	}
	return false
}

// UnlistedStarts returns the pods of which the runtime lists nothing: those that the kubelet
// desires, and those for which a process below the runtime works.
func (r *Reader) UnlistedStarts(s Scan, listed []*Pod) []*Pod {
	known := map[types.UID]bool{}
	for _, p := range listed {
		known[p.GivenUID()] = true
	}
	var found []*Pod
	if r.kubelet != nil {
		for _, object := range r.kubelet.Pods {
			if known[object.UID] || object.DeletionTimestamp != nil || pod.IsTerminal(object.Status.Phase) {
				continue
			}
			known[object.UID] = true
			found = append(found, &Pod{
				Metadata: Metadata{UID: object.UID, Namespace: object.Namespace, Name: object.Name}, Object: object,
				Verdict: owners.Verdict{Relation: owners.Desires, Kind: owners.ByKubelet, Source: r.kubelet.Source},
			})
		}
	}
	for _, h := range s.helpers {
		if h.Role != RoleCNI || h.Verb != "ADD" || h.pod.UID == "" || h.pod.Name == "" || known[h.pod.UID] {
			continue // a shim may be another runtime's
		}
		known[h.pod.UID] = true
		found = append(found, &Pod{Metadata: Metadata{UID: h.pod.UID, Namespace: h.pod.Namespace, Name: h.pod.Name}})
	}
	return found
}

// Starts returns those of the pods that should run and do not, nil for the others, with what is
// seen of their start.
func (r *Reader) Starts(ctx context.Context, s Scan, pods []*Pod) []*Pod {
	found := make([]*Pod, len(pods))
	var asked []int
	broken := r.BrokenProcesses(ctx, pods)
	for i, p := range pods {
		if mayBeStarting(p) || slices.ContainsFunc(p.ListedContainers(), func(c *pod.Container) bool { return broken[c.ID] != nil }) {
			asked = append(asked, i)
		}
	}
	if len(asked) == 0 {
		return found
	}
	notReady, holders := r.networkNotReady(ctx), holdersOf(pods)
	_ = cri.ReadEach(ctx, len(asked), func(ctx context.Context, n int) error {
		listed := pods[asked[n]]
		if p := r.Read(ctx, listed); p.IsStarting() {
			r.addStart(ctx, p, s)
			p.NetworkNotReady, p.Holder, found[asked[n]] = notReady, holders, p
		}
		return nil
	})
	r.readKubeletLog(ctx, found)
	return found
}

// mayBeStarting reports whether a pod needs a closer look: not one all of whose containers are
// ready, or that has ended.
func mayBeStarting(p *Pod) bool {
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

// addStart adds what is seen beside the runtime's and the owner's answers.
func (r *Reader) addStart(ctx context.Context, f *Pod, s Scan) {
	f.Hidden = s.hidden
	for _, h := range s.helpers {
		if isOfPod(&h, f) {
			f.Processes = append(f.Processes, h.Process)
		}
	}
	if f.Sandbox != nil && f.Sandbox.PID != 0 && s.hidden == nil {
		f.Frozen = FrozenBy(r.Procs, r.Cgroups, f.Sandbox.PID)
	}
	for i := range f.Containers {
		f.Frozen = cmp.Or(f.Frozen, f.Containers[i].Frozen)
	}
	if !r.Recorded { // which has no files of the host
		f.Paths = r.paths.check(ctx, r.rootOf(f), f.Volumes)
	}
}

// isOfPod reports whether a process works for the pod.
func isOfPod(h *helper, p *Pod) bool {
	switch {
	case h.Role == RoleMount:
		return p.UID != "" && slices.ContainsFunc(h.Command, func(a string) bool { return strings.Contains(a, string(p.GivenUID())) })
	case h.id != "":
		if _, known := p.Runtime.IDs()[h.id]; known {
			return true
		}
	}
	return h.pod.UID != "" && h.pod == pod.Identity{Namespace: p.Namespace, Name: p.Name, UID: p.GivenUID()}
}

// rootOf returns the root directory of the pod's owner, by which podctl sees its paths.
func (r *Reader) rootOf(p *Pod) string {
	if p.Kind() != KindKubelet || r.kubelet == nil || r.kubelet.Process == nil {
		return "/"
	}
	return r.Procs.Root(r.kubelet.Process.PID)
}

// networkNotReady returns why the runtime's network does not work, "" if it does or that is
// not known.
func (r *Reader) networkNotReady(ctx context.Context) string {
	if r.Runtime == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	s, err := r.Runtime.Status(ctx)
	if err != nil || s.Network.OK {
		return ""
	}
	return strings.TrimSuffix(s.Network.Reason+": "+s.Network.Message, ": ")
}

// holdersOf returns the listed pods by the ids of their sandboxes and containers.
func holdersOf(pods []*Pod) map[string]string {
	names := map[string]string{}
	for _, p := range pods {
		for id := range p.Runtime.IDs() {
			names[id] = p.DisplayName()
		}
	}
	return names
}

// readKubeletLog adds what the kubelet logged about its pods.
func (r *Reader) readKubeletLog(ctx context.Context, found []*Pod) {
	ofKubelet := func(p *Pod) bool { return p != nil && p.Ownership() == OwnedByKubelet && p.UID != "" }
	if r.ProcessLog == nil || r.kubelet == nil || r.kubelet.Process == nil || !slices.ContainsFunc(found, ofKubelet) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, layerTimeout)
	defer cancel()
	text, err := r.ProcessLog(ctx, r.kubelet.Process.PID)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		for _, p := range found {
			if ofKubelet(p) && strings.Contains(line, string(p.UID)) {
				p.KubeletLog = append(p.KubeletLog, line)
			}
		}
	}
}
