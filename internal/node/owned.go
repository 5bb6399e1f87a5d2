package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// Owners returns which podctl process that uses another endpoint owns a pod, or may
// own it; ok is false if none does.
type Owners func(p *pod.Pod) (h owner.Holder, ok bool)

// leaveOwned takes the pods out of what is adopted or stopped that a podctl process
// owns by another endpoint: a proxy may lead to the same runtime, whose locks then
// are not those of this process. If that is not known now, all of them wait.
func (n *Node) leaveOwned(ctx context.Context, found *lifecycle.Findings) {
	if n.opts.OwnersElsewhere == nil || len(found.Adopt)+len(found.Stop) == 0 {
		return
	}
	ownerOf, err := n.opts.OwnersElsewhere(ctx)
	if err != nil && ctx.Err() == nil {
		n.log.Warn("adopt and stop pods later: their owners are not known", "err", err)
	}
	isOwned := func(p *pod.Pod) bool {
		if err != nil {
			found.Postpone(p)
			return true
		}
		h, owned := ownerOf(p)
		if owned {
			found.Hold(p, &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: h.Name, Endpoint: h.Runtime.Endpoint})
		}
		return owned
	}
	found.Adopt = slices.DeleteFunc(found.Adopt, isOwned)
	found.Stop = slices.DeleteFunc(found.Stop, isOwned)
}
