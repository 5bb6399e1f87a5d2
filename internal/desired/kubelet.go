package desired

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/safeurl"
)

// Kubelet returns the pods that a kubelet manages.
func Kubelet(ctx context.Context, o kubelet.Options) Answer {
	a := Answer{Source: "kubelet " + safeurl.Text(o.Address())}
	a.Pods, a.Err = o.Pods(ctx)
	return a
}

// Near returns the pods that the kubelet of this runtime manages, and what its metrics
// say where they had to be read.
func Near(ctx context.Context, n *kubelet.Near) (a Answer, w kubelet.Working) {
	a.Source = fmt.Sprintf("kubelet %s", n.Server())
	a.Pods, w, a.Err = n.PodsAndWorking(ctx, kubelet.NearTimeout)
	return a, w
}
