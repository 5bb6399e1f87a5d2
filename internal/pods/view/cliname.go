package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
)

// CLIName returns the name by which the command line selects this pod and no other:
// NAMESPACE/NAME, or CLINameByID if that selects another pod or is not shell-safe.
func (p *Pod) CLIName() string {
	if word, plain := pod.CLIName(p.Namespace, p.Name); plain && !p.replaced {
		return word
	}
	return p.CLINameByID()
}

// CLINameByID returns an id by which the command line selects the pod: of the newest sandbox, else
// of a container, else the UID.
func (p *Pod) CLINameByID() string {
	id := p.SandboxID()
	if id == "" && p.Runtime != nil && len(p.Runtime.Containers) > 0 {
		id = p.Runtime.Containers[0].ID
	}
	return cmp.Or(id, string(p.UID))
}

// ContainerCLIName is like CLIName for a container of the pod; for nil it is the pod's.
func (p *Pod) ContainerCLIName(c *pod.Container) string {
	if c == nil {
		return p.CLIName()
	}
	if !pod.IsShellSafe(c.Name) {
		return c.ID
	}
	return p.CLIName() + "/" + c.Name
}

// Current returns the pods without those that a newer pod of the same name has replaced.
func Current(all []*Pod) []*Pod {
	best := map[[2]string]*Pod{}
	for _, p := range all {
		name := [2]string{p.Namespace, p.Name}
		if other := best[name]; other == nil || isReplacedBy(other, p) {
			best[name] = p
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *Pod) bool { return best[[2]string{p.Namespace, p.Name}] != p })
}

// markReplaced sets replaced of the pods that are not in Current.
func markReplaced(all []*Pod) {
	for _, p := range all {
		p.replaced = true
	}
	for _, p := range Current(all) {
		p.replaced = false
	}
}

// isReplacedBy reports whether pod b has taken the place of pod a of the same name.
func isReplacedBy(a, b *Pod) bool {
	if a.Managed() != b.Managed() {
		return b.Managed()
	}
	aRuns, bRuns := a.Runtime != nil && a.Runtime.Running(), b.Runtime != nil && b.Runtime.Running()
	if aRuns != bRuns {
		return bRuns
	}
	return cmp.Or(a.Began().Compare(b.Began()), strings.Compare(string(a.UID), string(b.UID))) < 0
}
