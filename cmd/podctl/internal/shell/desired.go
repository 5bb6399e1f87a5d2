package shell

import (
	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/sources"
)

// DesiredFlags are the flags of ReadDesired.
func DesiredFlags() []cli.Flag {
	return append(KubeletFlags(),
		&cli.StringFlag{Name: "kubeconfig", Usage: "`FILE` of a cluster to ask for the node's pods"},
		&cli.StringFlag{Name: "node", DefaultText: "that of the kubelet, else this host's name", Usage: "`NAME` of the node in that cluster"},
	)
}

// KubeletFlags are the flags of ReadDesired that name a kubelet.
func KubeletFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kubelet", DefaultText: "none", Usage: "`URL` of a kubelet to ask for its pods, which is trusted: http://127.0.0.1:10255, https://127.0.0.1:10250"},
		&cli.StringFlag{Name: "kubelet-token-file", Usage: "`FILE` with a bearer token for the kubelet"},
		&cli.StringFlag{Name: "kubelet-cert", Usage: "`FILE` with a client certificate for the kubelet"},
		&cli.StringFlag{Name: "kubelet-key", Usage: "`FILE` with the key of the client certificate"},
		&cli.StringFlag{Name: "kubelet-ca", DefaultText: "none for a kubelet on this machine, else the system's", Usage: "`FILE` with the authority that signed the kubelet's certificate"},
	}
}

// ReadDesired reads the kubelet and the cluster to ask for desired pods.
func ReadDesired(c *cli.Context) (sources.Sources, error) {
	s := sources.Sources{
		Kubelet: kubelet.Options{
			URL: c.String("kubelet"), TokenFile: c.String("kubelet-token-file"),
			CertFile: c.String("kubelet-cert"), KeyFile: c.String("kubelet-key"), CAFile: c.String("kubelet-ca"),
		},
		Kubeconfig: c.String("kubeconfig"), Node: c.String("node"),
	}
	s.AskKubelet = s.Kubelet != kubelet.Options{}
	switch {
	case (s.Kubelet.CertFile == "") != (s.Kubelet.KeyFile == ""):
		return s, Usagef("--kubelet-cert and --kubelet-key go together")
	case s.AskKubelet && s.Kubelet.URL == "":
		return s, Usagef("--kubelet is missing: the credentials are for that URL")
	case s.Node != "" && s.Kubeconfig == "" && c.String("static-pods") == "":
		return s, Usagef("--node is a node of the cluster that --kubeconfig names")
	}
	return s, nil
}
