package starting

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/inventory"
)

// Facts are what is known of one pod.
type Facts struct {
	describe.Facts
	By       inventory.Ownership // who starts it
	OwnerPID int                 // of a podctl process that does not answer, 0 if it is not known
	Name     string              // what names it on a command line
	// Absent are the images that containers wait for and the runtime does not have; known
	// only of those that are looked up.
	Absent []string
	// Processes work for the pod, Hidden is why they cannot be seen.
	Processes []Process
	Hidden    error
	// Frozen is the file of the cgroup that freezes its sandbox, "" if none does.
	Frozen string
	// Paths are those of its volumes that do not answer, or are not what the pod asks for.
	Paths []Path
	// Pulls are those of its images. PullsListed: the runtime says which pulls are in
	// flight. NoPull: none is, of any image. Unnamed are those of a runtime that does not
	// name the images, as one.
	Pulls       []Pull
	PullsListed bool
	NoPull      bool
	Unnamed     *Pull
	// NotReady is why the runtime's network does not work, "" if it does.
	NotReady string
	// LogError is the last error that its kubelet logged about it, nil if none is known.
	LogError *LogError
	// Killed are the containers that its kubelet has logged to stop, by id.
	Killed map[string]bool
	// Holder is the listed pod of the sandbox or container that has a name which the
	// runtime refuses, by that id.
	Holder map[string]string
	// Server is the process that serves the runtime's socket.
	Server cri.Server
}

// Starting reports whether the pod should run and does not, or is not ready.
func (f *Facts) Starting() bool {
	switch w := f.Worker; {
	case w != nil && (w.Stopped || w.Terminating() || w.Finished()), f.Stopping != nil, f.Status == pod.StatusTerminating:
		return false
	case w != nil && w.Rejected != "":
		return true
	case f.Phase == string(v1.PodSucceeded), f.Phase == string(v1.PodFailed), f.Phase == string(pod.PhaseExited):
		return false
	case w == nil && f.By != inventory.OwnedByKubelet:
		return f.unstarted()
	case w != nil && w.NotReady != "":
		return true
	}
	return len(f.Containers) == 0 || f.pending() != nil
}

// unstarted reports whether a pod whose owner does not say how far it is has been created, and not
// started: no container of it ever ran or, where its spec is known, one has yet to.
func (f *Facts) unstarted() bool {
	hasRun := func(c describe.Container) bool {
		return c.State != stateCreated && c.State != "" && (c.State != stateWaiting || c.ID != "")
	}
	if f.Spec == nil || len(f.Containers) == 0 {
		return !slices.ContainsFunc(f.Containers, hasRun)
	}
	return slices.ContainsFunc(f.Containers, func(c describe.Container) bool { return c.Kind != describe.KindEphemeral && !hasRun(c) })
}

// The states of a container.
const (
	stateWaiting    = "waiting"
	stateRunning    = "running"
	stateTerminated = "terminated"
	stateCreated    = "created"
)

// pending returns the first container that is not as it should be, nil if all are. Init
// containers count until a regular one was created.
func (f *Facts) pending() *describe.Container {
	initialized := slices.ContainsFunc(f.Containers, func(c describe.Container) bool {
		return (c.Kind == describe.KindRegular || c.Kind == "") && c.ID != ""
	})
	// One that has failed says more than one that has yet to begin.
	var first *describe.Container
	for i := range f.Containers {
		c := &f.Containers[i]
		if c.Kind == describe.KindEphemeral || c.Kind == describe.KindInit && initialized || f.isUp(c) {
			continue
		}
		if first == nil || rank(c) > rank(first) {
			first = c
		}
	}
	return first
}

// rank is how much a container that is not up says about what its pod waits for.
func rank(c *describe.Container) int {
	switch {
	case c.State == stateWaiting && c.Reason != "" && !isPlain(c.Reason), c.State == stateTerminated:
		return 3
	case c.State == stateCreated, c.State == stateRunning:
		return 2
	case c.Kind == describe.KindInit:
		return 1
	}
	return 0
}

// isPlain reports whether the reason for which a container waits says nothing.
func isPlain(reason string) bool { return reason == "ContainerCreating" || reason == "PodInitializing" }

// isUp reports whether a container has done what its pod needs of it to be ready.
func (f *Facts) isUp(c *describe.Container) bool {
	switch c.State {
	case stateRunning:
		return c.Kind != describe.KindInit && (c.Ready == nil || *c.Ready)
	case stateTerminated:
		policy := ""
		if f.Spec != nil {
			policy = f.Spec.RestartPolicy
		}
		ok := c.End != nil && c.End.ExitCode == 0
		switch v1.RestartPolicy(policy) {
		case v1.RestartPolicyNever:
			return c.Kind != describe.KindInit || ok
		case v1.RestartPolicyOnFailure:
			return ok
		case v1.RestartPolicyAlways:
			return c.Kind == describe.KindInit && ok
		}
		return true // it has run, and no owner is known that desires it
	}
	return false
}
