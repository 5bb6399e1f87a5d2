package node

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/podsync"
)

// handlerOf is the runtime handler of the pod's runtime class, "" for the
// default one.
func (n *Node) handlerOf(p *v1.Pod) string { return n.classes().Handler(p) }

// features asks the runtime what a handler can do. It is not remembered: a
// runtime that is restarted may have other handlers, and few pods ask.
func (n *Node) features(ctx context.Context, handler string) (podsync.Features, error) {
	status, err := n.rt.Status(ctx)
	if err != nil || len(status.Handlers) == 0 {
		return podsync.Features{}, err
	}
	i := slices.IndexFunc(status.Handlers, func(h cri.Handler) bool { return h.Name == handler })
	if i < 0 {
		return podsync.Features{}, fmt.Errorf("the handler %q is not known", handler)
	}
	h := status.Handlers[i]
	return podsync.Features{RecursiveReadOnly: h.RecursiveReadOnlyMounts, UserNamespaces: h.UserNamespaces}, nil
}
