package desired

import (
	"context"

	"github.com/podctl/podctl/internal/kubelet"
)

// Kubelet returns the pods that a kubelet manages.
func Kubelet(ctx context.Context, o kubelet.Options) Answer {
	a := Answer{Source: "kubelet " + o.Address()}
	a.Pods, a.Err = o.Pods(ctx)
	return a
}
