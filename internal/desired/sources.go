package desired

import (
	"cmp"
	"context"
	"os"

	"github.com/podctl/podctl/internal/kubelet"
)

// Sources are a kubelet and a cluster to ask for the pods of this node. The zero
// value names neither.
type Sources struct {
	Kubelet kubelet.Options
	// AskKubelet: a kubelet was named.
	AskKubelet bool
	// Kubeconfig names the cluster, Node the node in it; "" is the host's name.
	Kubeconfig, Node string
}

// Cluster opens the cluster that is named; nil if none is.
func (s Sources) Cluster() (*Cluster, error) {
	if s.Kubeconfig == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil && s.Node == "" {
		return nil, err
	}
	return OpenCluster(s.Kubeconfig, cmp.Or(s.Node, host))
}

// Answers asks the kubelet that is named and the cluster, which may be nil.
func (s Sources) Answers(ctx context.Context, cluster *Cluster) []Answer {
	var all []Answer
	if s.AskKubelet {
		all = append(all, Kubelet(ctx, s.Kubelet))
	}
	if cluster != nil {
		all = append(all, cluster.Pods(ctx))
	}
	return all
}
