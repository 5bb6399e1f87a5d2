package describe

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// facts assembles what was read.
func (c *collection) facts() Facts {
	p := c.pod
	display := p.Display()
	f := Facts{
		Metadata: Metadata{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Labels: p.Labels()},
		Status:   display.Status, Phase: p.Phase(), Ready: display.Ready, Total: display.Containers, Restarts: display.Restarts,
		StartTime: p.Started(), Owner: ownerOf(p), Worker: c.worker, Stopping: c.verdict, Events: c.events, Containers: c.containers(),
	}
	if o := c.object; o != nil {
		f.Metadata.Labels, f.Metadata.Annotations = o.Labels, secret.Annotations(o.Annotations)
		f.Spec, f.Volumes, f.Conditions = readSpec(o, c.from), specVolumes(o), conditionsOf(o)
		f.Reason, f.Message = o.Status.Reason, o.Status.Message
	}
	c.addSandbox(&f)
	c.addStarted(&f)
	if group := c.tree.Pod(c.listing()); group != "" {
		f.Cgroup = readCgroup(c.tree, group)
	}
	for i := range f.Containers {
		if group := c.tree.Container(f.Containers[i].ID); group != "" && f.Containers[i].State == stateRunning {
			f.Containers[i].Cgroup = readCgroup(c.tree, group)
		}
	}
	return f
}

func ownerOf(p *inventory.Pod) Owner {
	o := Owner{Kind: string(p.Kind()), Instance: p.Creator, Exited: p.Abandoned()}
	if p.Manager != nil {
		o.Instance = p.Manager.Name
	}
	if p.Verdict.Process.Elsewhere {
		o.Elsewhere = p.Verdict.Process.Name
	}
	if p.Runtime != nil && len(p.Runtime.Sandboxes) > 0 {
		o.Source = p.Runtime.Sandboxes[0].Source
	}
	return o
}

// addSandbox adds the newest sandbox as its status shows it, or as the listing does.
func (c *collection) addSandbox(f *Facts) {
	if c.pod.Runtime == nil || len(c.pod.Runtime.Sandboxes) == 0 {
		return
	}
	for _, s := range c.pod.Runtime.Sandboxes {
		if s.State != pod.Running {
			f.DeadSandboxes++
		}
	}
	newest := c.sandbox(c.pod.Runtime.Sandboxes[0])
	f.Sandbox = &newest
	superseded, _ := c.pod.Runtime.Superseded()
	for _, s := range superseded {
		f.OtherReady = append(f.OtherReady, c.sandbox(s))
	}
}

func (c *collection) sandbox(s *pod.Sandbox) Sandbox {
	d := c.details[s.ID]
	of := Sandbox{ID: s.ID, State: "not ready", Attempt: s.Attempt, CreatedAt: s.CreatedAt, Handler: s.RuntimeHandler, NetNS: d.NetNS, PID: d.PID}
	if s.State == pod.Running {
		of.State = "ready"
	}
	if c.status != nil {
		for _, read := range c.status.Sandboxes {
			if read.ID == s.ID {
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

// addCauses adds the cause of each exit. The kernel's log is read only if a container was
// killed.
func (c *collection) addCauses(f *Facts) {
	var killed []string
	isOOM := map[string]bool{} // by the runtime
	for i := range f.Containers {
		for _, e := range f.Containers[i].exits() {
			if e.ExitCode == signalBase+9 || e.Reason == reasonOOMKilled {
				killed = append(killed, e.ID)
				isOOM[e.ID] = e.Reason == reasonOOMKilled
			}
		}
	}
	kills, log := map[string]kernelKill{}, KernelLog{}
	if killed = slices.DeleteFunc(killed, func(id string) bool { return id == "" }); len(killed) > 0 {
		var err error
		if log, err = c.KernelLog(); err != nil {
			c.unread = append(c.unread, Unread{"kernel log", err.Error()})
		}
		kills = kernelKills(log.Records, killed, string(c.pod.UID))
	}
	for i := range f.Containers {
		ct := &f.Containers[i]
		for _, e := range ct.exits() {
			x := c.newExit(f, ct, e, kills)
			x.log, x.otherKills = log, slices.ContainsFunc(killed, func(id string) bool { return id != e.ID && (isOOM[id] || kills[id].count > 0) })
			e.Cause = causeOf(x)
		}
	}
}

// exits returns how the newest attempts of the container ended, in no order.
func (c *Container) exits() []*End {
	var all []*End
	for _, e := range []*End{c.End, c.Last} {
		if e != nil {
			all = append(all, e)
		}
	}
	return all
}

func (c *collection) newExit(f *Facts, ct *Container, e *End, kills map[string]kernelKill) exit {
	x := exit{code: e.ExitCode, reason: e.Reason, started: e.StartedAt, finished: e.FinishedAt, limits: memoryLimits{own: c.details[e.ID].MemoryLimit}, pod: f.Cgroup, probe: ct.failingProbe(), read: c.Now()}
	if f.Cgroup != nil {
		x.limits.pod = f.Cgroup.MemoryLimit
	}
	if o := c.object; o != nil {
		x.limits.containers = len(o.Spec.Containers)
		if r := o.Spec.Resources; r != nil {
			_, x.limits.podLevel = r.Limits[v1.ResourceMemory]
		}
		for i := range o.Spec.InitContainers {
			if pod.IsSidecar(&o.Spec.InitContainers[i]) {
				x.limits.containers++
			}
		}
	}
	if kill, ok := kills[e.ID]; ok {
		x.kill = &kill
	}
	if w := c.worker; w != nil {
		x.stop, x.grace = w.StopRequested, time.Duration(w.GraceSeconds)*time.Second
	}
	if o := c.object; o != nil && o.DeletionTimestamp != nil {
		x.grace = time.Duration(deref(o.DeletionGracePeriodSeconds)) * time.Second
		x.stop = o.DeletionTimestamp.Add(-x.grace)
	}
	for _, ev := range c.events {
		if ev.Container == ct.Name && ev.Reason == event.Killing && !ev.Time.After(e.FinishedAt) && ev.Time.After(e.StartedAt) {
			x.killing = ev.Message
		}
	}
	return x
}

func deref(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
