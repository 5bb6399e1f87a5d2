package daemon

import (
	"context"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// ownersElsewhere asks the podctl processes of this host that use the runtime by other
// endpoints, or have other run directories, for their pods. unseen is why some of them
// may not be visible, nil if all are.
func ownersElsewhere(locks *owner.Locks, unseen error) func(context.Context) (node.Owners, error) {
	return func(ctx context.Context) (node.Owners, error) {
		others, err := inventory.AskElsewhere(ctx, locks.Dir(), locks.Identity(), nil)
		if err != nil {
			return nil, err
		}
		return func(p *pod.Pod) error {
			creator, id := "", ""
			if len(p.Sandboxes) > 0 {
				creator, id = p.Sandboxes[0].Owner, p.Sandboxes[0].OwnerID
			}
			if h, ok := others.Owner(p.UID, p.FullName(), creator, id); ok {
				return &owner.HeldError{What: fmt.Sprintf("pod %q", p.FullName()), Owner: h.Name, Endpoint: h.Runtime.Endpoint}
			}
			return unseen
		}, nil
	}
}

// podsOfOthers returns a function that returns the pods of the other podctl processes of
// this host, of any runtime, and their instances, or an error if one did not answer.
// unseen is why some of them may not be visible, nil if all are: then it is the error.
func podsOfOthers(locks *owner.Locks, unseen error) func(context.Context) (map[types.UID]string, error) {
	return func(ctx context.Context) (map[types.UID]string, error) {
		if unseen != nil {
			return nil, unseen
		}
		all, err := inventory.AskAll(ctx, filepath.Dir(locks.Dir()), locks.ID(), locks.Identity(), nil)
		if err != nil {
			return nil, err
		}
		return all.Pods()
	}
}
