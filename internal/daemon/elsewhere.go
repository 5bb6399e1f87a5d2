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

// ownersElsewhere asks the podctl processes of this host that use other endpoints
// for their pods.
func ownersElsewhere(dir string) func(context.Context) (node.Owners, error) {
	return func(ctx context.Context) (node.Owners, error) {
		others, err := inventory.AskElsewhere(ctx, dir, nil)
		if err != nil {
			return nil, err
		}
		return func(p *pod.Pod) (owner.Holder, bool) {
			creator, id := "", ""
			if len(p.Sandboxes) > 0 {
				creator, id = p.Sandboxes[0].Owner, p.Sandboxes[0].OwnerID
			}
			return others.Owner(p.UID, p.FullName(), creator, id)
		}, nil
	}
}

// podsOfOthers returns a function that returns the pods of the podctl processes of this
// host, of any endpoint, or an error if another one did not answer. This one's may be
// among them.
func podsOfOthers(locks *owner.Locks) func(context.Context) (map[types.UID]bool, error) {
	return func(ctx context.Context) (map[types.UID]bool, error) {
		all, err := inventory.AskAll(ctx, filepath.Dir(locks.Dir()), nil)
		if err != nil {
			return nil, err
		}
		for _, h := range all.Silent {
			if !h.Is(locks.Instance(), locks.ID()) {
				return nil, fmt.Errorf("podctl process %q does not say which pods it owns", h.Name)
			}
		}
		uids := map[types.UID]bool{}
		for uid := range all.Owners {
			uids[uid] = true
		}
		return uids, nil
	}
}
