package main

import (
	"cmp"
	"context"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
)

// desiredOptions say whom to ask which pods belong on this node, besides
// podctl itself.
type desiredOptions struct {
	kubelet kubelet.Options
	// askKubelet: a kubelet was named, if only by a credential.
	askKubelet       bool
	kubeconfig, node string
}

func desiredFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubelet", DefaultText: "not asked", Usage: "`URL` of a kubelet to ask for its pods: http://127.0.0.1:10255, https://127.0.0.1:10250"},
		&cli.StringFlag{Name: "kubelet-token-file", Usage: "`FILE` with a bearer token for the kubelet"},
		&cli.StringFlag{Name: "kubelet-cert", Usage: "`FILE` with a client certificate for the kubelet"},
		&cli.StringFlag{Name: "kubelet-key", Usage: "`FILE` with its key"},
		&cli.StringFlag{Name: "kubelet-ca", DefaultText: "a kubelet on this machine is trusted", Usage: "`FILE` with the certificate that vouches for the kubelet"},
		&cli.StringFlag{Name: "kubeconfig", Usage: "`FILE` of a cluster to ask for the node's pods"},
		&cli.StringFlag{Name: "node", DefaultText: "this host's name", Usage: "`NAME` of the node in that cluster"},
	}
}

func readDesired(c *cli.Context) (desiredOptions, error) {
	o := desiredOptions{
		kubelet: kubelet.Options{
			URL: c.String("kubelet"), TokenFile: c.String("kubelet-token-file"),
			CertFile: c.String("kubelet-cert"), KeyFile: c.String("kubelet-key"), CAFile: c.String("kubelet-ca"),
		},
		kubeconfig: c.String("kubeconfig"), node: c.String("node"),
	}
	o.askKubelet = o.kubelet != kubelet.Options{}
	switch {
	case (o.kubelet.CertFile == "") != (o.kubelet.KeyFile == ""):
		return o, usagef("--kubelet-cert and --kubelet-key go together")
	case o.askKubelet && o.kubelet.URL == "":
		return o, usagef("--kubelet says which kubelet the credentials are for")
	case o.node != "" && o.kubeconfig == "" && c.String("static-pods") == "":
		return o, usagef("--node is a node of the cluster that --kubeconfig names")
	}
	return o, nil
}

// cluster opens the cluster that was named; nil if none was.
func (o desiredOptions) cluster() (*desired.Cluster, error) {
	if o.kubeconfig == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil && o.node == "" {
		return nil, err
	}
	return desired.OpenCluster(o.kubeconfig, cmp.Or(o.node, host))
}

// answers asks the kubelet and the cluster, those of them that were named.
func (o desiredOptions) answers(ctx context.Context, cluster *desired.Cluster) []desired.Answer {
	var all []desired.Answer
	if o.askKubelet {
		all = append(all, desired.Kubelet(ctx, o.kubelet))
	}
	if cluster != nil {
		all = append(all, cluster.Pods(ctx))
	}
	return all
}
