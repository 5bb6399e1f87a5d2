package view

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// Merge joins the runtime's listing with what the owners of its pods answered, sorted by
// name. Pods that a podctl process has and the runtime does not are part of it. A pod that
// podctl did not create is separate from one of a process that has its UID.
func Merge(listed []*pod.Pod, answers *owners.Answers) []*Pod {
	all := make([]*Pod, 0, len(listed))
	podctls := map[types.UID]*Pod{}
	for _, r := range listed {
		if r.IsForeign() && r.SharedUID == "" && answers.NamedHere(r.UID) {
			r = r.Separate() // a process's pod of the UID is another one
		}
		p := &Pod{Metadata: Metadata{UID: r.UID, Namespace: r.Namespace, Name: r.Name}, Runtime: r, Verdict: answers.Judge(r)}
		p.Creator = p.NewestSandbox().Owner
		if p.Kind() == KindKubelet {
			p.Object = answers.Kubelet.Object(p.GivenUID())
		}
		if p.Creator != "" || len(r.Sandboxes) == 0 {
			podctls[r.UID] = p // what others created is not a process's pod, though it has the UID
		}
		all = append(all, p)
	}
	for i := range answers.Processes {
		process := &answers.Processes[i]
		if process.Elsewhere {
			continue
		}
		for uid, w := range process.Workers {
			p := podctls[uid]
			if p == nil {
				p = &Pod{Metadata: Metadata{UID: uid, Namespace: w.Namespace, Name: w.Name}, Verdict: owners.Verdict{Relation: owners.Manages, Kind: owners.ByPodctl, Process: *process}}
				podctls[uid], all = p, append(all, p)
			}
			if p.Manager != nil && w.Rejected != "" {
				continue // another process manages it
			}
			p.Manager, p.Worker = &process.Process, w
			if p.Runtime == nil {
				p.Verdict.Process = *process
			}
		}
	}
	slices.SortFunc(all, func(a, b *Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
	})
	markReplaced(all)
	return all
}
