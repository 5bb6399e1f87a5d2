package view

import (
	"time"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
)

// assemble joins what was read.
func (s *Sources) assemble() {
	f := s.Pod
	display := f.Display()
	f.Metadata.Labels, f.Status, f.Phase = f.SandboxLabels(), display.Status, f.ListedPhase()
	f.Ready, f.Total, f.Restarts = display.Ready, display.Containers, display.Restarts
	f.StartTime, f.Containers = f.Began(), s.containers()
	f.Deleted, f.Grace = f.Worker.StopRequested, time.Duration(f.Worker.GraceSeconds)*time.Second
	if o := s.Object; o != nil {
		f.Metadata.Labels, f.Metadata.Annotations = o.Labels, secret.Annotations(o.Annotations)
		f.Spec, f.Volumes, f.Conditions = readSpec(o, s.From), specVolumes(o), conditionsOf(o)
		f.Reason, f.Message = o.Status.Reason, o.Status.Message
		if o.DeletionTimestamp != nil {
			f.Grace = 0
			if n := o.DeletionGracePeriodSeconds; n != nil {
				f.Grace = time.Duration(*n) * time.Second
			}
			f.Deleted = o.DeletionTimestamp.Add(-f.Grace)
		}
	}
	f.MemoryLimits = map[string]*uint64{}
	for id, d := range s.Details {
		f.MemoryLimits[id] = d.MemoryLimit
	}
	s.addSandbox()
	if group := s.Tree.Pod(s.listing()); group != "" {
		f.Cgroup = readCgroup(s.Tree, group)
	}
	for i := range f.Containers {
		if group := s.Tree.Container(f.Containers[i].ID); group != "" && f.Containers[i].State == Running {
			f.Containers[i].Cgroup = readCgroup(s.Tree, group)
		}
	}
}

func ownerOf(p *Pod) Owner {
	o := Owner{Kind: string(p.Kind()), Instance: p.Instance(), Exited: p.Abandoned(), Source: p.NewestSandbox().Source}
	if p.Verdict.Process.Elsewhere {
		o.Elsewhere = p.Verdict.Process.Name
	}
	return o
}

// addSandbox adds the newest sandbox as its status shows it, or as the listing does.
func (s *Sources) addSandbox() {
	if len(s.ListedSandboxes()) == 0 {
		return
	}
	for _, of := range s.Runtime.Sandboxes {
		if of.State != pod.Running {
			s.DeadSandboxes++
		}
	}
	newest := s.sandbox(s.Runtime.Sandboxes[0])
	s.Sandbox = &newest
	superseded, _ := s.Runtime.Superseded()
	for _, of := range superseded {
		s.OtherReady = append(s.OtherReady, s.sandbox(of))
	}
}

func (s *Sources) sandbox(listed *pod.Sandbox) Sandbox {
	d := s.Details[listed.ID]
	of := Sandbox{ID: listed.ID, State: NotReady, Attempt: listed.Attempt, CreatedAt: listed.CreatedAt, Handler: listed.RuntimeHandler, NetNS: d.NetNS, PID: d.PID}
	if listed.State == pod.Running {
		of.State = Ready
	}
	if s.RuntimeStatus != nil {
		for _, read := range s.RuntimeStatus.Sandboxes {
			if read.ID == listed.ID {
				of.IPs, of.HostNetwork = read.IPs, read.HostNetwork
			}
		}
	}
	return of
}

func readCgroup(tree *cgroup.Tree, group string) *Cgroup {
	s, p := tree.Stat(group), tree.Pressure(group)
	return &Cgroup{
		Path: group, CPULimit: s.CPULimit, Memory: s.WorkingSet, MemoryLimit: s.MemoryLimit, MemoryPeak: p.Peak, LimitHits: p.LimitHits,
		OOMKills: p.OOMKills, PIDs: s.PIDs, PIDLimit: s.PIDLimit, Periods: s.Periods, Throttled: s.Throttled,
		Swap: s.Swap, PSI: tree.PSI(group),
	}
}
