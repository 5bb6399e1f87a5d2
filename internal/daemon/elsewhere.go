package daemon

import (
	"context"

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
