package plugin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/fleet/cluster"
)

const (
	// defaultNamespace is that of examples/fleet; so are selector and container.
	defaultNamespace = "podctl-system"
	selector         = "app.kubernetes.io/name=podctl,app.kubernetes.io/component=inspector"
	container        = "podctl"
	// defaultNodeTimeout bounds the command on each node.
	defaultNodeTimeout = 30 * time.Second
)

// Flags are those of the plugin, before the command, and after it where the command has
// none of that name.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "node", DefaultText: "none", Usage: "run the command on this `NODE`; comma-separated or repeated for several"},
		&cli.BoolFlag{Name: "all-nodes", Usage: "run the command on all nodes"},
		&cli.StringFlag{Name: "node-selector", Aliases: []string{"l"}, DefaultText: "none", Usage: "run the command on the nodes with these `LABELS`: node-role.kubernetes.io/worker="},
		&cli.DurationFlag{Name: "node-timeout", DefaultText: defaultNodeTimeout.String(), Usage: "timeout of the command on each node, a `DURATION`; none by default if its output is streamed"},
		&cli.StringFlag{Name: "kubeconfig", DefaultText: "as kubectl", Usage: "kubeconfig `FILE` of the cluster"},
		&cli.StringFlag{Name: "context", DefaultText: "current context", Usage: "`CONTEXT` of the kubeconfig"},
		&cli.StringFlag{Name: "inspector-namespace", DefaultText: defaultNamespace, Usage: "`NAMESPACE` of the inspector pods"},
	}
}

// options are the values of the flags.
type options struct {
	cluster.Options
	nodes       []string
	all         bool
	labels      string
	timeout     time.Duration // 0 if it was not given
	inspectorNS string
}

// selects reports whether the command is to run on nodes.
func (o options) selects() bool { return len(o.nodes) > 0 || o.all || o.labels != "" }

// readOptions reads the values of the plugin's flags; an error is one of usage.
func readOptions(values map[string][]string) (o options, err error) {
	last := func(name, otherwise string) string {
		if given := values[name]; len(given) > 0 {
			return given[len(given)-1]
		}
		return otherwise
	}
	o.Kubeconfig, o.Context = last("kubeconfig", ""), last("context", "")
	o.inspectorNS, o.labels = last("inspector-namespace", defaultNamespace), last("node-selector", "")
	for name := range strings.SplitSeq(strings.Join(values["node"], ","), ",") {
		if name = strings.TrimSpace(name); name != "" {
			o.nodes = append(o.nodes, name)
		}
	}
	if o.all, err = strconv.ParseBool(last("all-nodes", "false")); err != nil {
		return o, shell.Usagef("--all-nodes is true or false")
	}
	if o.timeout, err = time.ParseDuration(last("node-timeout", "0s")); err != nil || o.timeout < 0 {
		return o, shell.Usagef("--node-timeout %q is not a duration such as 30s", last("node-timeout", ""))
	}
	return o, o.check()
}

func (o options) check() error {
	ways := 0
	for _, given := range []bool{len(o.nodes) > 0, o.all, o.labels != ""} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return shell.Usagef("--node, --node-selector and --all-nodes exclude each other")
	}
	for _, name := range o.nodes {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return shell.Usagef("--node %q is not a name of a node", name)
		}
	}
	if _, err := labels.Parse(o.labels); err != nil {
		return shell.Usagef("--node-selector %q: %v", o.labels, err)
	}
	if len(validation.IsDNS1123Label(o.inspectorNS)) > 0 {
		return shell.Usagef("--inspector-namespace %q is not a name of a namespace", o.inspectorNS)
	}
	return nil
}

// NodeCandidates are the nodes that the last word may name; none if the cluster cannot be
// asked.
func (p *Plugin) NodeCandidates(ctx context.Context, done cmdline.Completion) []cmdline.Candidate {
	client, err := cluster.Open(cluster.Options{Kubeconfig: done.Flags["kubeconfig"], Context: done.Flags["context"]})
	if err != nil {
		return nil
	}
	nodes, err := client.Nodes(ctx, "")
	if err != nil {
		return nil
	}
	var all []cmdline.Candidate
	for _, name := range nodes {
		if strings.HasPrefix(name, done.Word) {
			all = append(all, cmdline.Candidate{Word: name, Usage: "node"})
		}
	}
	return all
}
