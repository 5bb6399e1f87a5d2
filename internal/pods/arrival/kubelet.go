package arrival

import (
	"context"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/sys/hint"
)

// askKubelet asks the kubelet that uses the runtime for its pods. What a part of them
// requests says nothing about what is free.
func askKubelet(ctx context.Context, p *kubelet.Process) sources.Answer {
	answer := p.Ask(ctx, kubelet.Question{})
	a := sources.Kubelet(answer)
	if a.Err == nil && answer.Incomplete != nil {
		a.Pods, a.Err = nil, hint.With(answer.Incomplete, nameSources)
	}
	return a
}

// stoppedKubeletError says that a kubelet created pods that run, and that none uses
// the runtime now: what they request is known to no one.
func stoppedKubeletError(pods int) error {
	return hint.Errorf("start the kubelet, or "+nameSources,
		"what is requested on this node is not known: a kubelet created %d of the running pods, and none uses this runtime now", pods)
}

// nameSources is the hint that names the flags of other sources.
const nameSources = "name the pods on the node: --node-pods FILE, or --kubeconfig FILE with --node"
