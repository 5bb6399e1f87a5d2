package desired

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podctl/podctl/internal/apiget"
)

// Cluster asks an API server about one node. Make one with OpenCluster.
type Cluster struct {
	node   string
	base   *url.URL
	client *http.Client
}

// OpenCluster reads a kubeconfig. It makes no connection.
func OpenCluster(kubeconfig, node string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.Timeout = apiget.Timeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %s: %w", kubeconfig, err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %s: %w", kubeconfig, err)
	}
	return &Cluster{node: node, base: base, client: client}, nil
}

// Pods are the pods bound to the node. A mirror pod gets the
// UID of the static pod that it mirrors, by which the runtime knows it.
func (c *Cluster) Pods(ctx context.Context) Answer {
	a := Answer{Source: fmt.Sprintf("cluster %s, node %s", c.base.Host, c.node)}
	address := c.base.JoinPath("api/v1/pods")
	address.RawQuery = url.Values{"fieldSelector": {"spec.nodeName=" + c.node}}.Encode()
	pods, err := apiget.PodList(ctx, c.client, address.String())
	if err != nil {
		a.Err = fmt.Errorf("ask the cluster: %w", err)
		return a
	}
	for _, p := range pods {
		if hash, ok := p.Annotations[v1.MirrorPodAnnotationKey]; ok {
			p.UID = types.UID(hash)
		}
	}
	a.Pods = pods
	return a
}

// Node is the node's object: its labels, taints and what is allocatable.
func (c *Cluster) Node(ctx context.Context) (*v1.Node, error) {
	var n v1.Node
	if err := apiget.Object(ctx, c.client, c.base.JoinPath("api/v1/nodes", c.node).String(), &n); err != nil {
		return nil, fmt.Errorf("ask the cluster: %w", err)
	}
	return &n, nil
}
