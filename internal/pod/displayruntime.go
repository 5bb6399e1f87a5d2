package pod

import "slices"

// DisplayOfRuntime displays a pod by what the runtime shows of it, for a pod whose
// spec is not known. status may be nil: then an exit code is not known. A container
// that has completed before another one was created is taken for an init container.
func DisplayOfRuntime(p *Pod, status *Status) Display {
	d := Display{Status: "Running"}
	var ended []string
	created, running := 0, 0
	for _, c := range newest(p) {
		d.Restarts += int32(c.Attempt)
		if c.isInit(p, status) {
			continue
		}
		d.Containers++
		switch c.State {
		case Running:
			running++
		case Created:
			created++
		case Exited, Unknown:
			ended = append(ended, c.exitReason(status))
		}
	}
	d.Ready = running
	ready := slices.ContainsFunc(p.Sandboxes, func(s *Sandbox) bool { return s.State == Running })
	switch {
	case len(ended) > 0:
		d.Status = worstEnd(ended, running > 0)
	case created > 0, ready && running < max(d.Containers, 1): // what was created has not ended
		d.Status = "ContainerCreating"
	case !ready && running == 0:
		d.Status = completed
	}
	d.Status, _ = StatusFacts{Containers: d.Status, Terminating: !ready && running > 0}.Decide()
	return d
}

// worstEnd returns the end of a container that has not completed, else Completed: or
// NotReady while others run.
func worstEnd(ended []string, running bool) string {
	for _, end := range ended {
		if end != completed {
			return end
		}
	}
	if running {
		return "NotReady"
	}
	return completed
}

// newest returns the last attempt of each container, oldest container first.
func newest(p *Pod) []*Container {
	var all []*Container
	for _, c := range p.Containers { // newest first
		if !slices.ContainsFunc(all, func(o *Container) bool { return o.Name == c.Name }) {
			all = append(all, c)
		}
	}
	slices.Reverse(all)
	return all
}

// isInit reports whether it is known that the container had ended well when another one
// was created.
func (c *Container) isInit(p *Pod, status *Status) bool {
	if c.State != Exited || status == nil {
		return false
	}
	s := status.ContainerByID(c.ID)
	if s == nil || s.ExitCode != 0 {
		return false
	}
	return slices.ContainsFunc(p.Containers, func(o *Container) bool {
		return o.Name != c.Name && o.SandboxID == c.SandboxID && o.CreatedAt.After(s.FinishedAt)
	})
}

// exitUnknown is STATUS of a pod with a container that has exited, how is not known.
const exitUnknown = "ExitCode:unknown"

// exitReason returns how a container ended, in the kubelet's words: Completed, Error,
// OOMKilled …
func (c *Container) exitReason(status *Status) string {
	if c.State == Unknown {
		return "ContainerStatusUnknown"
	}
	var s *ContainerStatus
	if status != nil {
		s = status.ContainerByID(c.ID)
	}
	switch {
	case s == nil:
		return exitUnknown
	case s.Reason != "" && s.Reason != completed:
		return s.Reason
	case s.ExitCode != 0:
		return "Error"
	}
	return completed
}
