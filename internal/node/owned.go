package node

import (
	"context"
	"slices"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
)

// Owners returns why a pod is not this process's to adopt or to stop: another podctl process
// owns it, by another endpoint or run directory, or may own it; nil if none does.
type Owners func(p *pod.Pod) error

// leaveOwned takes the pods out of what is adopted or stopped that a podctl process
// owns by another endpoint: a proxy may lead to the same runtime, whose locks then
// are not those of this process. If that is not known now, all of them wait.
func (n *Node) leaveOwned(ctx context.Context, found *lifecycle.Findings) {
	if n.opts.OwnersElsewhere == nil || len(found.Adopt)+len(found.Stop) == 0 {
		return
	}
	ownerOf, err := n.opts.OwnersElsewhere(ctx, slices.Concat(found.Adopt, found.Stop))
	if err != nil && ctx.Err() == nil {
		n.log.Warn("adopt and stop pods later: their owners are not known", "err", err)
	}
	isOwned := func(p *pod.Pod) bool {
		if err != nil {
			found.MarkUnread(p)
			return true
		}
		why := ownerOf(p)
		if why != nil {
			found.MarkManagedByOther(p, why)
		}
		return why != nil
	}
	found.Adopt = slices.DeleteFunc(found.Adopt, isOwned)
	found.Stop = slices.DeleteFunc(found.Stop, isOwned)
}
