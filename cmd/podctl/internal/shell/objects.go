package shell

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/view"
)

// objectsTimeout bounds the answers of podctl processes: without them pods are shown as
// the runtime shows them.
const objectsTimeout = 2 * time.Second

// ReadPodctlObjects sets the objects of the pods that live podctl processes manage, as
// far as these answer.
func ReadPodctlObjects(ctx context.Context, dial control.Dialer, pods []*view.Pod) {
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
				setObjects(pods, objects, func(other *view.Pod) bool { return other.Managed() && other.Manager.Socket == p.Manager.Socket })
			}
		})
	}
	asking.Wait()
}

// setObjects sets the objects of the pods of one owner.
func setObjects(pods []*view.Pod, objects []*v1.Pod, owned func(*view.Pod) bool) {
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
