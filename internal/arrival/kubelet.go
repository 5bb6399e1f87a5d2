package arrival

import (
	"context"
	"fmt"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/hint"
	"github.com/podctl/podctl/internal/kubelet"
)

// askKubelet asks the kubelet that uses the runtime for its pods. What a part of them
// requests says nothing about what is free.
func askKubelet(ctx context.Context, p *kubelet.Process) desired.Answer {
	answer := p.Ask(ctx, kubelet.Question{})
	a := desired.Kubelet(answer)
	if a.Err == nil && answer.Incomplete != nil {
		a.Pods, a.Err = nil, hint.With(answer.Incomplete, nameSources)
	}
	return a
}

// StoppedKubeletError: a kubelet created pods that run, and none uses the runtime
// now. What they request is known to no one.
type StoppedKubeletError struct{ Pods int }

func (e *StoppedKubeletError) Error() string {
	return fmt.Sprintf("what is requested on this node is not known: a kubelet created %d of the running pods, and none uses this runtime now", e.Pods)
}

// Hint names other sources.
func (*StoppedKubeletError) Hint() string { return "start the kubelet, or " + nameSources }

const nameSources = "name the pods on the node: --node-pods FILE, or --kubeconfig FILE with --node"
