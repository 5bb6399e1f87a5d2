package shell

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
)

// objectsTimeout bounds the answers of a kubelet and of podctl processes: without them
// pods are shown as the runtime shows them.
const objectsTimeout = 2 * time.Second

// ReadKubeletObjects sets the objects of a kubelet's pods, if the kubelet that uses the
// runtime endpoint answers.
func ReadKubeletObjects(ctx context.Context, endpoint string, pods []*inventory.Pod) {
	isKubelets := func(p *inventory.Pod) bool { return p.Kind() == inventory.KindKubelet }
	if !slices.ContainsFunc(pods, isKubelets) {
		return
	}
	process, err := kubelet.Find(ctx, endpoint)
	if err != nil || process == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	answer := process.Ask(ctx, kubelet.Question{})
	setObjects(pods, answer.Pods, isKubelets)
	for _, p := range pods {
		p.KubeletTerminates = answer.Incomplete == nil && isKubelets(p) && p.Object == nil
	}
}

// ReadPodctlObjects sets the objects of the pods that live podctl processes manage, as
// far as these answer.
func ReadPodctlObjects(ctx context.Context, dial control.Dialer, pods []*inventory.Pod) {
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	asked := map[string]bool{}
	var asking sync.WaitGroup
	for _, p := range pods {
		if !p.Managed() || asked[p.Manager.Socket] {
			continue
		}
		asked[p.Manager.Socket] = true
		asking.Go(func() {
			if list, err := p.Manager.Client(dial).Pods(ctx); err == nil {
				objects := make([]*v1.Pod, 0, len(list.Items))
				for i := range list.Items {
					objects = append(objects, &list.Items[i])
				}
				setObjects(pods, objects, func(other *inventory.Pod) bool { return other.Managed() && other.Manager.Socket == p.Manager.Socket })
			}
		})
	}
	asking.Wait()
}

// setObjects sets the objects of the pods of one owner.
func setObjects(pods []*inventory.Pod, objects []*v1.Pod, owned func(*inventory.Pod) bool) {
	byUID := map[types.UID]*v1.Pod{}
	for _, object := range objects {
		byUID[object.UID] = object
	}
	for _, p := range pods {
		if owned(p) {
			p.Object = byUID[p.GivenUID()]
		}
	}
}
