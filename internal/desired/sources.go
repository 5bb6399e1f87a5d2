package desired

import (
	"context"

	"github.com/podctl/podctl/internal/kubelet"
)

// Sources are a kubelet and a cluster to ask for the pods of this node. The zero
// value names neither.
type Sources struct {
	Kubelet kubelet.Options
	// AskKubelet: a kubelet was named.
	AskKubelet bool
	// Kubeconfig names the cluster, Node the node in it; "" is that of NodeName.
	Kubeconfig, Node string
}

// Cluster opens the cluster that is named; nil if none is.
func (s Sources) Cluster() (*Cluster, error) {
	if s.Kubeconfig == "" {
		return nil, nil
	}
	return OpenCluster(s.Kubeconfig)
}

// NodeName is the name of this machine's node: the one that is named, else that of
// the kubelet that uses the runtime, which may be nil.
func (s Sources) NodeName(p *kubelet.Process) (string, error) {
	if s.Node != "" {
		return s.Node, nil
	}
	return p.Node()
}

// Answers asks the kubelet that is named and the cluster, which may be nil, for the
// node.
func (s Sources) Answers(ctx context.Context, cluster *Cluster, node string) []Answer {
	var all []Answer
	if s.AskKubelet {
		all = append(all, Kubelet(s.Kubelet.Ask(ctx, nil, kubelet.Question{})))
	}
	if cluster != nil {
		all = append(all, cluster.Pods(ctx, node))
	}
	return all
}
