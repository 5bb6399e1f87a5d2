package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/fleet/cluster"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Program is the name of podctl as a plugin.
const Program = "kubectl podctl"

// Plugin runs commands on nodes.
type Plugin struct {
	Env *shell.Env
	// ordered is the command line in the order of cmdline.Reorder.
	ordered []string
	// flags are the plugin's own: those of the app and of each command.
	flags []cli.Flag
}

// about is the beginning of the plugin's help.
const about = `podctl runs on nodes of a cluster: each command runs in the inspector pod of every
node that --node, --node-selector or --all-nodes selects, and the answers become one.

   kubectl podctl --all-nodes terminating          what terminates, on which node, in which layer it is stuck
   kubectl podctl -l pool=gpu orphans              orphaned pods of the selected nodes
   kubectl podctl --node NODE describe POD         what every layer of the node knows of a pod
   kubectl podctl --all-nodes preempt --dry-run -f pod.yaml
                                                   where a pod fits, and which pods it would preempt
   kubectl podctl --all-nodes doctor --quiet       what is wrong with runtimes and hosts`

// Install makes the commands of app run on nodes. Help does not list those that do not run
// there.
func (p *Plugin) Install(app *cmdline.App) {
	app.Description = about
	app.Flags = append(app.Flags, p.newFlags()...)
	app.OnUsageError = namespaceFirst(app.OnUsageError)
	cmdline.Walk(app.Commands, func(name string, c *cmdline.Command) { p.install(app, c, name) })
}

func (p *Plugin) install(app *cmdline.App, command *cmdline.Command, name string) {
	command.Hidden = command.Hidden || command.OnNodes == cmdline.NotOnNodes
	command.Share(p.newFlags())
	here := command.Action
	command.Action = func(c *cli.Context) error {
		err := p.run(app, command, c, name)
		if errors.Is(err, errLocal) {
			return here(c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
}

// newFlags are Flags that the plugin recognizes as its own.
func (p *Plugin) newFlags() []cli.Flag {
	flags := Flags()
	p.flags = append(p.flags, flags...)
	return flags
}

// owns reports whether a flag is the plugin's, rather than a command's own of that name.
func (p *Plugin) owns(f cli.Flag) bool { return slices.Contains(p.flags, f) }

// nodesForm is how a command line runs on nodes.
func nodesForm(command *cmdline.Command, c *cli.Context) cmdline.OnNodes {
	if command.OnNodes == cmdline.NodeList && c.Bool("kill") { // orphans --kill prints each call
		return cmdline.NodeText
	}
	return command.OnNodes
}

// streams reports whether a command line prints without an end, or reads what is typed.
func streams(name string, c *cli.Context) bool {
	return c.Bool("watch") || c.Bool("follow") || c.Bool("stdin") || c.Bool("tty") || name == "attach"
}

// namespaceFirst says where -n belongs, which stands before the command with kubectl.
func namespaceFirst(next cli.OnUsageErrorFunc) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, inCommand bool) error {
		_, name, _ := strings.Cut(err.Error(), "not defined: -")
		err = next(c, err, inCommand)
		if usage, ok := errors.AsType[*shell.UsageError](err); ok && (name == "n" || name == "namespace") {
			usage.Advice = "-n is the command's, of the pods on the node: " + Program + " --node NODE pods -n NAMESPACE; --inspector-namespace is the plugin's"
		}
		return err
	}
}

// Run runs a command line, which is in the order of cmdline.Reorder.
func (p *Plugin) Run(app *cmdline.App, ordered []string) error {
	p.ordered = ordered
	return app.Run(ordered)
}

// errLocal: the command runs on this machine.
var errLocal = errors.New("local")

// run runs a command on the nodes that the command line selects.
func (p *Plugin) run(app *cmdline.App, command *cmdline.Command, c *cli.Context, name string) error {
	line := cmdline.Take(app, p.ordered, p.owns)
	o, err := readOptions(line.Values)
	if err != nil {
		return err
	}
	switch f := nodesForm(command, c); {
	case !o.selects() && (f == cmdline.Here || f == cmdline.NodeOrHere):
		return errLocal
	case f == cmdline.Here:
		return shell.Usagef("this command is about files of this machine, not about a node")
	case f == cmdline.NotOnNodes:
		return &shell.UsageError{
			Message: "this command is about files, ports or processes of one machine, which the inspector's container does not have",
			Advice:  "podctl " + name + " on the node",
		}
	case !o.selects():
		return noNode(c, name)
	}
	return p.Env.UntilInterrupted(c.Context, func(ctx context.Context) error {
		manifests, err := readManifests(ctx, p.Env, c)
		if err != nil {
			return err
		}
		r, err := p.newRun(o, app, command, c, name, manifests)
		if err != nil {
			return err
		}
		return r.run(ctx)
	})
}

// noNode is the error of a command without nodes.
func noNode(c *cli.Context, name string) error {
	advice := "--node NODE, -l LABELS or --all-nodes"
	if c.IsSet("node") {
		advice = "the command has a --node of its own; before the command it is the plugin's: " + Program + " --node NODE " + name
	}
	return &shell.UsageError{Message: "no node is selected", Advice: advice}
}

// reading is how the output of the command on a node is read.
type reading uint8

const (
	asText reading = iota
	asCells
	asJSON
	asFile
)

// run is a command on nodes.
type run struct {
	env     *shell.Env
	options options
	client  *cluster.Client
	// command is what runs on a node; as is how its output is read.
	command []string
	as      reading
	// list is the format in which the answers are printed.
	list output.Format
	// file is the one to which the answers of all nodes are written.
	file string
	// streams: the output is passed on as it comes.
	streams bool
	tty     bool
	stdin   bool
	// manifests are what the command on a node reads from its standard input; nil if it
	// reads none.
	manifests []byte
	// retained: the data of items are printed.
	retained bool
}

func (p *Plugin) newRun(o options, app *cmdline.App, command *cmdline.Command, c *cli.Context, name string, manifests []byte) (*run, error) {
	r := &run{env: p.Env, options: o, streams: streams(name, c), tty: c.Bool("tty"), manifests: manifests}
	r.stdin = c.Bool("stdin") || name == "attach" || slices.Contains(c.Args().Slice(), "-")
	g := shell.ReadGlobals(c)
	own := func(cli.Flag) bool { return false }
	switch f := nodesForm(command, c); {
	case r.streams:
	case f == cmdline.NodeFile:
		r.as, r.file, own = asFile, c.String("output"), isLists
	case f == cmdline.NodeList, f == cmdline.NodePage && g.Output != "" && g.Output != "table":
		if err := r.readList(c); err != nil {
			return nil, err
		}
		r.as = asCells
		own = isLists
	case g.Output == "json":
		r.as = asJSON
		r.list, _ = output.ParseFormat("json")
		r.retained = true
	case len(command.Data) > 0 && !slices.Contains([]string{"", "table", "wide", "name"}, g.Output):
		if err := r.readList(c); err != nil {
			return nil, err
		}
		r.as, r.retained = asJSON, true
		own = isLists
	}
	line := cmdline.Take(app, p.ordered, func(f cli.Flag) bool { return p.owns(f) || own(f) || r.manifests != nil && isManifest(f) })
	r.command = append([]string{"podctl"}, line.Args...)
	switch {
	case r.as == asCells:
		r.command = slices.Insert(r.command, 1+line.Command, "-o", output.Cells)
	case r.as == asJSON && g.Output != "json":
		r.command = slices.Insert(r.command, 1+line.Command, "-o", "json")
	case r.as == asFile:
		r.command = slices.Insert(r.command, 1+line.Command, "-o", "-")
	}
	if r.manifests != nil {
		r.command = slices.Insert(r.command, 1+line.Command, "-f", "-")
	}
	var err error
	r.client, err = cluster.Open(o.Options)
	return r, err
}

// readList reads how the list is printed here.
func (r *run) readList(c *cli.Context) error {
	g := shell.ReadGlobals(c)
	var err error
	if r.list, err = shell.ReadFormat(g.Output); err != nil {
		return err
	}
	r.list.NoHeaders, r.list.Width = c.Bool("no-headers"), r.env.TableWidth(g.NoTrunc)
	path := ""
	for _, f := range c.Command.Flags {
		if d := cmdline.Describe(f); d.Name == "sort-by" && isLists(f) {
			path = c.String(d.Name)
		}
	}
	r.retained = !r.list.IsTable() && r.list.Name() != "name" || path != ""
	return shell.SortBy(&r.list, path)
}

// isLists reports whether a flag is about how a list is printed.
func isLists(f cli.Flag) bool {
	switch d := cmdline.Describe(f); d.Name {
	case "output", "no-headers":
		return true
	case "sort-by":
		return d.Value == "JSONPATH"
	}
	return false
}

// run selects the nodes and runs the command on them.
func (r *run) run(ctx context.Context) error {
	targets, err := r.targets(ctx)
	if err != nil {
		return err
	}
	if r.streams && len(targets) > 1 {
		return &shell.UsageError{Message: fmt.Sprintf("%d nodes are selected: --watch, --follow, --stdin and --tty go with a single one", len(targets)), Advice: "--node NODE"}
	}
	if r.streams || len(targets) == 1 && r.as == asText {
		return r.stream(ctx, targets[0])
	}
	return r.report(ctx, r.askAll(ctx, targets))
}

// targets are the nodes of the command line and their inspector pods.
func (r *run) targets(ctx context.Context) ([]fleet.Target, error) {
	nodes := r.options.nodes
	if len(nodes) == 0 {
		var err error
		if nodes, err = r.client.Nodes(ctx, r.options.labels); err != nil {
			return nil, err
		}
		if len(nodes) == 0 {
			return nil, noNodes(r.options.labels)
		}
	}
	q := cluster.InspectorQuery{Namespace: r.options.inspectorNS, Selector: selector, Container: container}
	if len(nodes) == 1 {
		q.Node = nodes[0]
	}
	pods, err := r.client.Inspectors(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, noInspectors(r.options.inspectorNS, q.Node)
	}
	return fleet.Targets(nodes, pods), nil
}

// noNodes returns the error for a selector that selects no node.
func noNodes(selector string) error {
	const advice = "kubectl get nodes --show-labels"
	if selector == "" {
		return hint.Errorf(advice, "the cluster has no nodes")
	}
	return hint.Errorf(advice, "no node has the labels %q", selector)
}

// noInspectors returns the error for a DaemonSet that is not there, on any node or on
// one.
func noInspectors(namespace, node string) error {
	where := ""
	if node != "" {
		where = " on node " + node
	}
	advice := fmt.Sprintf("kubectl -n %s get pods -o wide -l %s\nexamples/fleet installs them; --inspector-namespace names another namespace", namespace, selector)
	return shell.Unreachable(hint.Errorf(advice, "no inspector pod%s in namespace %s", where, namespace))
}

// within returns a context for the command on one node.
func (r *run) within(ctx context.Context, otherwise time.Duration) (context.Context, context.CancelFunc) {
	limit := r.options.timeout
	if limit == 0 {
		limit = otherwise
	}
	if limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, &timedOutError{limit})
}
