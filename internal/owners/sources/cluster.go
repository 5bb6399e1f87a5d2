package sources

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podctl/podctl/internal/sys/apiget"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// Cluster asks an API server about nodes. Make one with OpenCluster.
type Cluster struct {
	base   *url.URL
	client *http.Client
}

// OpenCluster reads a kubeconfig. It makes no connection.
func OpenCluster(kubeconfig string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", safeurl.Cause(err))
	}
	config.Timeout = apiget.Timeout
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %s: %w", kubeconfig, safeurl.Cause(err))
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %s: %w", kubeconfig, safeurl.Cause(err))
	}
	return &Cluster{base: base, client: client}, nil
}

// Pods returns the pods bound to the node. The cluster must have the node, because it
// lists no pod for any other name. Where the node object may not be read, a pod that a
// kubelet of that name has started shows that the node exists. A mirror pod gets the UID
// of the static pod that it mirrors, by which the runtime knows it.
func (c *Cluster) Pods(ctx context.Context, node string) Answer {
	a := Answer{Source: fmt.Sprintf("cluster %s, node %s", c.base.Host, node)}
	_, nodeErr := c.Node(ctx, node)
	if nodeErr != nil && !isStatus(nodeErr, http.StatusForbidden) {
		a.Err = nodeErr
		return a
	}
	address := c.base.JoinPath("api/v1/pods")
	address.RawQuery = url.Values{"fieldSelector": {"spec.nodeName=" + node}}.Encode()
	pods, err := apiget.PodList(ctx, c.client, address.String())
	if err != nil {
		a.Err = fmt.Errorf("ask the cluster: %w", err)
		return a
	}
	if nodeErr != nil && !slices.ContainsFunc(pods, isStarted) {
		a.Err = nodeErr
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

// isStarted reports whether a kubelet has seen the pod: only kubelets set the time.
func isStarted(p *v1.Pod) bool { return p.Status.StartTime != nil }

// Node returns the node object. The error says whether the cluster does not have the
// node, or does not show it.
func (c *Cluster) Node(ctx context.Context, name string) (*v1.Node, error) {
	var n v1.Node
	err := apiget.Object(ctx, c.client, c.base.JoinPath("api/v1/nodes", url.PathEscape(name)).String(), &n)
	switch {
	case isStatus(err, http.StatusNotFound), isStatus(err, http.StatusForbidden):
		return nil, nodeError(name, err)
	case err != nil:
		return nil, fmt.Errorf("ask the cluster: %w", err)
	}
	return &n, nil
}

func isStatus(err error, code int) bool {
	status, ok := errors.AsType[*apiget.StatusError](err)
	return ok && status.Code == code
}

// nodeError says that the cluster does not have the node, or does not show whether it
// does.
func nodeError(node string, cause error) error {
	const named = "pass --node NAME, as kubectl get nodes lists it"
	if isStatus(cause, http.StatusNotFound) {
		return hint.Errorf(named, "the cluster has no node %q", node)
	}
	return hint.Errorf(named+"; the user of the kubeconfig needs the verb get of nodes", "ask the cluster whether it has the node %q: %w", node, cause)
}
