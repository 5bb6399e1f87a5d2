package gc

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// Policy is how many dead containers are kept.
type Policy struct {
	// MinAge is how long ago a container must have been created to be removed.
	MinAge time.Duration
	// MaxPerContainer is how many of one name a pod keeps; negative is no limit.
	MaxPerContainer int
	// MaxContainers is how many all pods keep; negative is no limit.
	MaxContainers int
}

// unit is the dead containers of one name of one pod.
type unit struct {
	containers []*pod.Container // newest first
}

// ContainersToRemove returns the dead containers that exceed the policy, oldest first
// within a name.
func ContainersToRemove(pods []*pod.Pod, p Policy, now time.Time) []*pod.Container {
	var units []*unit
	for _, each := range pods {
		units = append(units, deadContainersOf(each, now.Add(-p.MinAge))...)
	}
	var gone []*pod.Container
	shrink := func(limit int) {
		for _, u := range units {
			keep := min(limit, len(u.containers))
			old := slices.Clone(u.containers[keep:])
			slices.Reverse(old)
			gone = append(gone, old...)
			u.containers = u.containers[:keep]
		}
	}
	if p.MaxPerContainer >= 0 {
		shrink(p.MaxPerContainer)
	}
	if p.MaxContainers < 0 || countContainers(units) <= p.MaxContainers {
		return gone
	}
	// An equal share for each name, one at least; then the oldest of all.
	shrink(max(1, p.MaxContainers/len(units)))
	var left []*pod.Container
	for _, u := range units {
		left = append(left, u.containers...)
	}
	slices.SortStableFunc(left, func(a, b *pod.Container) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return append(gone, left[:max(0, len(left)-p.MaxContainers)]...)
}

// deadContainersOf returns the containers of a pod that are not running and were created
// before, by name.
func deadContainersOf(p *pod.Pod, before time.Time) []*unit {
	byName := map[string]*unit{}
	var units []*unit
	for _, c := range p.Containers {
		if c.State == pod.Running || c.CreatedAt.After(before) {
			continue
		}
		u := byName[c.Name]
		if u == nil {
			u = &unit{}
			byName[c.Name], units = u, append(units, u)
		}
		u.containers = append(u.containers, c)
	}
	return units
}

func countContainers(units []*unit) int {
	n := 0
	for _, u := range units {
		n += len(u.containers)
	}
	return n
}

// SandboxesToRemove returns the dead sandboxes without containers, oldest first within a
// pod. The newest keep sandboxes of each pod stay.
func SandboxesToRemove(pods []*pod.Pod, keep int) []*pod.Sandbox {
	var gone []*pod.Sandbox
	for _, p := range pods {
		used := map[string]bool{}
		for _, c := range p.Containers {
			used[c.SandboxID] = true
		}
		for i := len(p.Sandboxes) - 1; i >= keep; i-- { // newest first
			if s := p.Sandboxes[i]; s.State != pod.Running && !used[s.ID] {
				gone = append(gone, s)
			}
		}
	}
	return gone
}
