package preempt

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// PodRef names a pod.
type PodRef struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

func refTo(p *v1.Pod) PodRef { return PodRef{p.Namespace, p.Name, p.UID} }

// String is namespace/name.
func (r PodRef) String() string { return pod.DisplayName(r.Namespace, r.Name) }

// Active drops the pods that are over: their phase is terminal, so they hold
// nothing. It serves sources that know no more than manifests and statuses; who
// has pod workers asks them (pkg/kubelet/kubelet_pods.go).
func Active(pods []*v1.Pod) []*v1.Pod {
	return filter(pods, func(p *v1.Pod) bool {
		return !pod.IsTerminal(p.Status.Phase)
	})
}

// without drops the pod itself, which the kubelet knows already when it is
// asked to admit it (pkg/kubelet/allocation/allocation_manager.go).
func without(pods []*v1.Pod, p *v1.Pod) []*v1.Pod {
	return filter(pods, func(q *v1.Pod) bool { return q != p && (q.UID == "" || q.UID != p.UID) })
}

func filter(pods []*v1.Pod, keep func(*v1.Pod) bool) []*v1.Pod {
	kept := make([]*v1.Pod, 0, len(pods))
	for _, p := range pods {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}
