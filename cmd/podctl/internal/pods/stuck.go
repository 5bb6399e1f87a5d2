package pods

import (
	"context"
	"slices"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/view"
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
	env    *shell.Env
	opts   podListOptions
	reader *view.Reader
	client *cri.Client
	// examine returns those that hang of the pods that the user selects, and the pods that all
	// lacks. answers are nil while the runtime does not answer.
	examine func(ctx context.Context, all []*view.Pod, answers *owners.Answers) (hanging output.List, unlisted []*view.Pod)
	warn    sync.Once // about the kubelet
}

// runStuck shows the list or, if podctl cannot connect to the runtime, what live podctl processes
// report. prepare sets what to list.
func runStuck(ctx context.Context, e *shell.Env, o podListOptions, empty string, prepare func(*stuckLister)) error {
	return o.UntilInterrupted(ctx, e, func(ctx context.Context) error {
		reader, err := o.newReader(ctx, e)
		if err != nil {
			return err
		}
		l := &stuckLister{env: e, opts: o, reader: reader}
		l.reader.Kubelet = owners.KubeletAlways
		prepare(l)
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
	hanging, unlisted := l.examine(ctx, all, answers)
	all = append(all, unlisted...)
	return hanging, missing(l.opts.Resolve(all).Unmatched(all), all, l.opts.Watch)
}

// reported returns what live podctl processes report while the runtime does not answer, and
// the runtime's error.
func (l *stuckLister) reported(ctx context.Context, err error) (output.List, error) {
	pods := shell.Reported(l.env, l.reader, l.reader.Start(ctx), err)
	if ctx.Err() != nil || !shell.Unanswered(err) {
		return output.List{}, err
	}
	l.reader.Runtime = nil
	hanging, _ := l.examine(ctx, pods, nil)
	return hanging, err
}

// selected returns the pods that the user selects.
func (l *stuckLister) selected(all, unlisted []*view.Pod) []*view.Pod {
	shown := slices.Concat(all, unlisted)
	filter := l.opts.Resolve(shown)
	return slices.DeleteFunc(shown, func(p *view.Pod) bool { return !filter.Selects(p) })
}
