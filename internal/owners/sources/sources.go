package sources

import (
	"context"

	"github.com/podctl/podctl/internal/owners/kubelet"
)

// Sources are the kubelet and the cluster that the user named. The zero value names
// neither.
type Sources struct {
	Kubelet kubelet.Options
	// AskKubelet: the user named a kubelet.
	AskKubelet bool
	// Kubeconfig names the cluster; Node is the node in it, "" for that of the kubelet or
	// the host.
	Kubeconfig, Node string
}

// Cluster opens the cluster that the user named; nil if there is none.
func (s Sources) Cluster() (*Cluster, error) {
	if s.Kubeconfig == "" {
		return nil, nil
	}
	return OpenCluster(s.Kubeconfig)
}

// NodeName returns the name of this machine's node: the one that the user named, else
// that of the kubelet that uses the runtime, which may be nil.
func (s Sources) NodeName(p *kubelet.Process) (string, error) {
	if s.Node != "" {
		return s.Node, nil
	}
	return p.Node()
}

// Answers asks the kubelet that the user named, and the cluster, which may be nil.
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
