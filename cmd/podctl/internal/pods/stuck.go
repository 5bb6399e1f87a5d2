package pods

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/look"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// podListOptions are the options of commands that list pods.
type podListOptions struct {
	shell.Globals
	view.Filter
	shell.ListOptions
}

func readPodList(c *cli.Context) (o podListOptions, err error) {
	o.Globals = shell.ReadGlobals(c)
	if o.Filter, err = readPodFilter(c); err != nil {
		return o, err
	}
	o.ListOptions, err = shell.ReadList(c)
	return o, err
}

// newReader finds the runtime, which is kept in the options, and returns the reader of its pods.
func (o *podListOptions) newReader(ctx context.Context, e *shell.Env) (*view.Reader, error) {
	endpoint, paths, err := shell.FindSockets(ctx, o.Globals)
	if err != nil {
		return nil, err
	}
	o.Runtime, o.Image = endpoint.Runtime, endpoint.Image
	return shell.NewReader(e, endpoint, paths), nil
}

// stuckLister lists the pods that hang on their way up or down, also those of which the runtime
// lists nothing.
type stuckLister struct {
	env     *shell.Env
	opts    podListOptions
	reader  *view.Reader
	client  *cri.Client
	columns []string // after POD and SINCE
	// find returns those that hang of the pods that the user selects, nil for others, and the pods
	// that all lacks. answers are nil while the runtime does not answer.
	find func(ctx context.Context, all []*view.Pod, answers *owners.Answers) (hanging, unlisted []*view.Pod)
	item func(*view.Pod, time.Time) output.Item
	warn sync.Once // about the kubelet
}

// stuckCommand completes a command that lists pods that hang; set sets which.
func stuckCommand(e *shell.Env, c *cmdline.Command, set func(*stuckLister)) *cmdline.Command {
	c.Args = cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true}
	c.Effect, c.OnRecording, c.OnNodes = cmdline.Reads, true, cmdline.NodeList
	c.Data = []any{StuckPod{}, look.PodMetadata{}, stuckContainer{}, why.Evidence{}}
	c.Description += "-o is " + output.Formats + "."
	c.Flags = append(podFilterFlags(), shell.ListFlags()...)
	c.Action = func(flags *cli.Context) error {
		o, err := readPodList(flags)
		if err != nil {
			return err
		}
		return runStuck(flags.Context, e, o, "no "+c.Name+" pods", set)
	}
	return c
}

// runStuck shows the list or, if podctl cannot connect to the runtime, what live podctl processes
// report.
func runStuck(ctx context.Context, e *shell.Env, o podListOptions, empty string, set func(*stuckLister)) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		reader, err := o.newReader(ctx, e)
		if err != nil {
			return err
		}
		l := &stuckLister{env: e, opts: o, reader: reader}
		l.reader.Kubelet, l.reader.Denials = owners.KubeletAlways, true
		set(l)
		client, stop, err := shell.Connect(ctx, e, o.Globals)
		if err != nil {
			return o.Show(ctx, e, "", func(ctx context.Context) (output.List, error) { return l.reported(ctx, err) })
		}
		defer stop()
		l.client, l.reader.Runtime = client, client
		return o.Show(ctx, e, empty, l.list)
	})
}

func (l *stuckLister) list(ctx context.Context) (output.List, error) {
	all, answers, err := l.reader.List(ctx, l.client, l.reader.Start(ctx))
	switch {
	case err != nil && l.opts.Watch:
		return output.List{}, err
	case err != nil:
		return l.reported(ctx, err)
	}
	hanging, unlisted := l.find(ctx, all, answers)
	all = append(all, unlisted...)
	return l.listing(hanging), missing(l.opts.Resolve(all).Unmatched(all), all, l.opts.Watch)
}

// reported returns what live podctl processes report while the runtime does not answer, and
// the runtime's error.
func (l *stuckLister) reported(ctx context.Context, err error) (output.List, error) {
	pods := shell.Reported(l.env, l.reader, l.reader.Start(ctx), err)
	if ctx.Err() != nil || !shell.Unanswered(err) {
		return output.List{}, err
	}
	l.reader.Runtime = nil
	hanging, _ := l.find(ctx, pods, nil)
	return l.listing(hanging), err
}

func (l *stuckLister) listing(hanging []*view.Pod) output.List {
	list := output.List{Header: append([]string{"POD", "SINCE"}, l.columns...), Wide: []string{"OWNER", "WHY"}}
	for _, p := range hanging {
		if p != nil {
			list.Items = append(list.Items, l.item(p, l.env.Now()))
		}
	}
	return list
}

// selected returns the pods that the user selects.
func (l *stuckLister) selected(all, unlisted []*view.Pod) []*view.Pod {
	shown := slices.Concat(all, unlisted)
	filter := l.opts.Resolve(shown)
	return slices.DeleteFunc(shown, func(p *view.Pod) bool { return !filter.Selects(p) })
}
