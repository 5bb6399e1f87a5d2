package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// containers assembles what the spec, the owner and the runtime report about each
// container.
func (o *Sources) containers() []Container {
	var all []Container
	if o.Object != nil {
		all = specContainers(o.Object)
	}
	for _, c := range slices.Backward(o.ListedContainers()) { // oldest first
		if !slices.ContainsFunc(all, func(known Container) bool { return known.Name == c.Name }) {
			all = append(all, Container{Name: c.Name})
		}
	}
	for i := range all {
		o.addListed(&all[i])
		o.addRuntime(&all[i])
		o.addOtherRuns(&all[i])
		o.addOwner(&all[i])
		o.addProbes(&all[i])
	}
	return all
}

// addListed adds what the runtime lists about the newest attempt: all that is known if its
// status cannot be read.
func (o *Sources) addListed(c *Container) {
	i := slices.IndexFunc(o.ListedContainers(), func(l *pod.Container) bool { return l.Name == c.Name })
	if i < 0 {
		return
	}
	l := o.Runtime.Containers[i]
	c.ID, c.Attempt, c.Image, c.ImageID = l.ID, l.Attempt, cmp.Or(c.Image, l.Image), l.ImageID
	c.Restarts, c.PID, c.State = int32(l.Attempt), o.Details[l.ID].PID, stateOf(l.State)
}

// addOtherRuns adds older attempts that run, too.
func (o *Sources) addOtherRuns(c *Container) {
	if o.Runtime == nil {
		return
	}
	_, superseded := o.Runtime.Superseded()
	for _, l := range superseded {
		if l.Name != c.Name {
			continue
		}
		a := Attempt{ID: l.ID, Attempt: l.Attempt, State: stateOf(l.State), CreatedAt: l.CreatedAt, PID: o.Details[l.ID].PID}
		if o.RuntimeStatus != nil {
			if s := o.RuntimeStatus.ContainerByID(l.ID); s != nil {
				a.StartedAt = s.StartedAt
			}
		}
		c.OtherRuns = append(c.OtherRuns, a)
	}
}

func stateOf(s pod.State) string {
	switch s {
	case pod.Running:
		return Running
	case pod.Exited:
		return Terminated
	case pod.Created:
		return Created
	case pod.Unknown:
	}
	return Unknown
}

// addRuntime adds the runtime's status of the newest attempts.
func (o *Sources) addRuntime(c *Container) {
	if o.RuntimeStatus == nil {
		return
	}
	var attempts []*pod.ContainerStatus
	for _, s := range o.RuntimeStatus.Containers { // newest first
		if s.Name == c.Name {
			attempts = append(attempts, s)
		}
	}
	if len(attempts) == 0 {
		return
	}
	s := attempts[0]
	if c.ID != "" && s.ID != c.ID && s.Attempt < c.Attempt { // the newest attempt's status could not be read
		if s.State == pod.Exited {
			c.Last = endOf(s)
		}
		return
	}
	c.ID, c.Attempt, c.Image, c.ImageID, c.LogPath = s.ID, s.Attempt, cmp.Or(c.Image, s.Image), cmp.Or(s.ImageRef, s.ImageID), s.LogPath
	c.Restarts, c.PID, c.State = max(s.RestartCount, int32(s.Attempt)), o.Details[s.ID].PID, stateOf(s.State)
	if s.User != nil {
		c.User = fmt.Sprintf("%d:%d", s.User.UID, s.User.GID)
	}
	if c.StartedAt = s.StartedAt; s.State == pod.Exited {
		c.StartedAt, c.End = time.Time{}, endOf(s)
	}
	if len(attempts) > 1 && attempts[1].State == pod.Exited {
		c.Last = endOf(attempts[1])
	}
	c.addMounts(s)
}

func endOf(s *pod.ContainerStatus) *End {
	return &End{
		ID: s.ID, ExitCode: s.ExitCode, Reason: s.Reason, Message: strings.TrimSpace(s.Message),
		StartedAt: s.StartedAt, FinishedAt: s.FinishedAt,
	}
}

// addMounts adds the host paths of the mounts of the spec; without a spec, all mounts.
func (c *Container) addMounts(s *pod.ContainerStatus) {
	known := c.Kind != ""
	for _, m := range s.Mounts {
		i := slices.IndexFunc(c.Mounts, func(of Mount) bool { return of.Path == m.ContainerPath })
		switch {
		case i >= 0:
			c.Mounts[i].HostPath, c.Mounts[i].Image = m.HostPath, m.Image
		case !known:
			c.Mounts = append(c.Mounts, Mount{Path: m.ContainerPath, HostPath: m.HostPath, Image: m.Image, ReadOnly: m.ReadOnly})
		}
	}
}

// addOwner adds what the owner reports in the pod's status: why a container waits, and how
// it ended before the runtime removed it.
func (o *Sources) addOwner(c *Container) {
	s := o.ownerStatus(c.Name)
	if s == nil {
		return
	}
	c.Restarts, c.Ready, c.Started = max(c.Restarts, s.RestartCount), &s.Ready, s.Started
	if r := s.State.Running; r != nil && o.Runtime == nil { // the runtime did not answer
		c.State, c.StartedAt = Running, r.StartedAt.Time
	}
	c.Starting = s.State.Waiting != nil && c.State == Running && c.PostStart != ""
	if w := s.State.Waiting; w != nil && c.State != Running {
		if c.End != nil {
			c.Last, c.End = c.End, nil
		}
		c.State, c.Reason, c.Message = Waiting, w.Reason, w.Message
	}
	switch last, ended := s.LastTerminationState.Terminated, s.State.Terminated; {
	case c.Last == nil && last != nil:
		c.Last = endOfObject(last)
	case c.ID == "" && ended != nil:
		c.State, c.End = Terminated, endOfObject(ended)
	}
	if c.State == Waiting {
		o.addBackOff(c)
	}
}

// addBackOff adds when a container that waits is started again.
func (o *Sources) addBackOff(c *Container) {
	if o.Manager != nil {
		for _, w := range o.Worker.Waiting {
			if w.Container == c.Name && w.Reason == c.Reason {
				c.RetryAt, c.BackOffSeconds = w.RetryAt, w.BackOffSeconds
			}
		}
		return
	}
	if backOff, ok := kubeletBackOff(c.Message); ok && c.Last != nil {
		c.BackOffSeconds, c.RetryAt = backOff.Seconds(), c.Last.FinishedAt.Add(backOff)
	}
}

func (o *Sources) ownerStatus(name string) *v1.ContainerStatus {
	if o.Object == nil {
		return nil
	}
	s := &o.Object.Status
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(list, func(of v1.ContainerStatus) bool { return of.Name == name }); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

func endOfObject(t *v1.ContainerStateTerminated) *End {
	_, id, _ := strings.Cut(t.ContainerID, "://")
	return &End{
		ID: id, ExitCode: t.ExitCode, Reason: t.Reason, Message: strings.TrimSpace(t.Message), StartedAt: t.StartedAt.Time, FinishedAt: t.FinishedAt.Time,
	}
}

// kubeletBackOff returns the back-off of a container of a kubelet's pod. The Kubernetes
// API has no field for it: the kubelet writes it into the message (doBackOff in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func kubeletBackOff(message string) (time.Duration, bool) {
	rest, ok := strings.CutPrefix(message, "back-off ")
	if !ok {
		return 0, false
	}
	text, _, _ := strings.Cut(rest, " ")
	d, err := time.ParseDuration(text)
	return d, err == nil
}

// addProbes adds the last results of the probes that do not pass.
func (o *Sources) addProbes(c *Container) {
	if o.Manager == nil {
		return
	}
	for _, u := range o.Worker.Unready {
		if u.Container != c.Name {
			continue
		}
		i := slices.IndexFunc(c.Probes, func(p Probe) bool { return strings.EqualFold(string(p.Type), u.Probe.Type) })
		if i < 0 {
			c.Probes, i = append(c.Probes, Probe{Type: ProbeType(strings.ToLower(u.Probe.Type))}), len(c.Probes)
		}
		p := &c.Probes[i]
		p.Result, p.Failures, p.Output = string(u.Probe.Result), u.Probe.Failures, strings.TrimSpace(u.Probe.Output)
	}
}

func conditionsOf(p *v1.Pod) []Condition {
	var all []Condition
	for _, c := range p.Status.Conditions {
		all = append(all, Condition{Type: string(c.Type), Status: string(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return all
}
