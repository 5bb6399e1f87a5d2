package pleg

import (
	"context"
	"fmt"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/serve/observe"
	"github.com/podctl/podctl/internal/serve/survey"
)

// ObserveOptions are the options of `podctl agent --observe`.
type ObserveOptions struct {
	shell.Globals
	Format output.Format
	// Listen, Scan and Instance are those of observe.Options.
	Listen   string
	Scan     time.Duration
	Instance string
}

// Observe watches the runtime, prints its events, and serves metrics and
// health of pods that others manage.
func Observe(ctx context.Context, e *shell.Env, o ObserveOptions) error {
	w := newWatchSession(e, watchOptions{Globals: o.Globals, format: o.Format, source: plegstat.AutoSource})
	return observe.Run(ctx, observe.Options{
		Connect: func(ctx context.Context, calls cri.CallWatcher, operations cri.Observer) (*cri.Client, func(), error) {
			return shell.ConnectWatched(ctx, e, o.Globals, calls, operations)
		},
		Paths:    o.Paths,
		SkipDirs: func(endpoint cri.Endpoint) bool { return endpoint.Runtime == cri.SimEndpoint && !e.SimOutlives },
		Listen:   o.Listen, Scan: o.Scan, Instance: o.Instance, Meter: w.meter, Calls: w.calls,
		Retries: func(err error, first bool) bool {
			retries := shell.ExitCode(err) == shell.ExitUnreachable
			if retries && first {
				shell.PrintError(e.Errw, fmt.Errorf("the runtime is tried again every %s: %w", observe.ConnectPause, err))
			}
			return retries
		},
		UntilInterrupted: e.UntilInterrupted,
		Survey:           survey.NodeOptions{Dial: e.Dial, Procs: e.Procs, Now: e.Now, Log: e.Log},
		Alive:            w.alive, Notify: e.Notify, Now: e.Now, Log: e.Log,
	}, func(s *plegstat.Session, seen func(plegstat.Event)) error {
		w.session, w.seen = s, seen
		w.begin(ctx)
		return w.run()
	})
}
