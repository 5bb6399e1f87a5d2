package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Property is what a pod is named by in place of its name: something that is seen of it on
// the host, such as the PID of a process.
type Property struct {
	Kind  PropertyKind
	Value string
}

// PropertyKind is the word before the colon.
type PropertyKind string

// The kinds of properties.
const (
	ByPID       PropertyKind = "pid"
	ByCgroup    PropertyKind = "cgroup"
	ByIP        PropertyKind = "ip"
	ByPort      PropertyKind = "port"
	ByContainer PropertyKind = "container"
)

// PropertyKinds are all kinds.
var PropertyKinds = []PropertyKind{ByPID, ByCgroup, ByIP, ByPort, ByContainer}

func (p Property) String() string { return string(p.Kind) + ":" + p.Value }

// ParseProperty reads KIND:VALUE. No name of a pod has a colon.
func ParseProperty(word string) (Property, bool) {
	kind, value, colon := strings.Cut(word, ":")
	p := Property{PropertyKind(kind), value}
	return p, colon && slices.Contains(PropertyKinds, p.Kind)
}

// Process is a process of the host.
type Process struct {
	PID  int
	Comm string
	// Shim: it is between the runtime and a container, and beside the runtime. Args are its
	// arguments then.
	Shim bool
	Args []string
	// Cgroups are its cgroups in all hierarchies, the longest path first.
	Cgroups []string
}

// ancestry is a process, its parent, and so on.
type ancestry []Process

// findByPID returns the pod of a process, and the container if it is one's: by its cgroup, or
// because it is a shim; else that of the nearest parent which has one.
func findByPID(all []*view.Pod, groups podCgroups, lineage ancestry) (Target, error) {
	for _, p := range lineage {
		for _, cgroup := range p.Cgroups {
			if t, found := inCgroup(all, groups, cgroup); found {
				return t, nil
			}
		}
		if !p.Shim {
			continue
		}
		for _, arg := range p.Args {
			if t, found := withID(all, arg); found {
				return Target{Pod: t.Pod}, nil // the shim of one container may be that of all
			}
		}
	}
	p := lineage[0]
	text := fmt.Sprintf("process %d (%s) is of no pod of this runtime", p.PID, p.Comm)
	if len(p.Cgroups) > 0 {
		text += ": its cgroup is " + p.Cgroups[0]
	}
	return Target{}, hint.With(errors.New(text), "podctl pods lists the pods of the runtime; -r names another one")
}

// withID returns the pod that has the sandbox, or the container, of an id.
func withID(all []*view.Pod, id string) (Target, bool) {
	for _, p := range all {
		if t, found := withIDIn(p, id); found {
			return t, true
		}
	}
	return Target{}, false
}

func withIDIn(p *view.Pod, id string) (Target, bool) {
	if len(id) < minID {
		return Target{}, false
	}
	for _, c := range p.ListedContainers() {
		if c.ID == id {
			return Target{Pod: p, Container: c}, true
		}
	}
	return Target{Pod: p}, slices.ContainsFunc(p.ListedSandboxes(), func(s *pod.Sandbox) bool { return s.ID == id })
}

// findByContainerID returns the container whose id begins so, or the pod of such a sandbox. An id
// may have the name of its runtime before it, as in the status of a pod.
func findByContainerID(all []*view.Pod, id string) (Target, error) {
	if _, after, scheme := strings.Cut(id, "://"); scheme {
		id = after
	}
	if len(id) < minID {
		return Target{}, fmt.Errorf("container:%s: an id of %d characters at least is needed", id, minID)
	}
	var found []Target
	var names []string
	add := func(t Target, what string) {
		found, names = append(found, t), append(names, fmt.Sprintf("%s (%s)", t.DisplayName(), what))
	}
	for _, p := range all {
		for _, c := range p.ListedContainers() {
			if strings.HasPrefix(c.ID, id) {
				add(Target{Pod: p, Container: c}, pod.ShortID(c.ID))
			}
		}
		for _, s := range p.ListedSandboxes() {
			if strings.HasPrefix(s.ID, id) {
				add(Target{Pod: p}, "sandbox "+pod.ShortID(s.ID))
			}
		}
	}
	switch len(found) {
	case 0:
		return Target{}, hint.Errorf("podctl ps -a lists the containers of the runtime", "no container has an id that begins with %s", id)
	case 1:
		return found[0], nil
	}
	return Target{}, ambiguous("container:"+id, names)
}
