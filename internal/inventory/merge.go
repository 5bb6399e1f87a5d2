package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Merge joins the runtime's listing with the answers of the live podctl
// processes, sorted by name. alive reports whether a live podctl process is
// responsible for a pod that a podctl created, or may have created, and that
// none of them names. A pod that podctl did not create is separate from one of a podctl
// process that has its UID, and of which the runtime has nothing.
func Merge(listed []*pod.Pod, live []Live, alive func(*Pod) bool) []*Pod {
	byUID := map[types.UID]*Pod{}
	for _, r := range listed {
		p := &Pod{UID: r.UID, Namespace: r.Namespace, Name: r.Name, Runtime: r}
		if len(r.Sandboxes) > 0 {
			p.Creator, p.CreatorID = r.Sandboxes[0].Owner, r.Sandboxes[0].OwnerID
		}
		byUID[r.UID] = p
	}
	for _, l := range live {
		for _, w := range l.Workers {
			p := byUID[w.UID]
			if p != nil && p.Runtime != nil && p.Runtime.IsForeign() && p.Runtime.SharedUID == "" {
				delete(byUID, w.UID)
				p.Runtime = p.Runtime.Separate()
				p.UID = p.Runtime.UID
				byUID[p.UID], p = p, nil
			}
			if p == nil {
				p = &Pod{UID: w.UID, Namespace: w.Namespace, Name: w.Name}
				byUID[w.UID] = p
			}
			if p.Manager != nil && w.Rejected != "" {
				continue // another process manages it
			}
			p.Manager, p.Worker, p.Alive = &l.Process, w, true
		}
	}
	all := make([]*Pod, 0, len(byUID))
	for _, p := range byUID {
		// The creator of a pod that has lost its sandbox is not known.
		if p.Manager == nil && (p.Creator != "" || len(p.Runtime.Sandboxes) == 0) {
			p.Alive = alive(p)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
	})
	return all
}
