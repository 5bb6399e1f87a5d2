package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/metrics"
	"github.com/podctl/podctl/internal/pleg"
)

// runObserve watches the runtime, prints its events and serves metrics and
// health, for what others run there. It runs nothing, owns nothing and takes no
// lock.
func runObserve(ctx context.Context, e *env, o agentOptions) error {
	w := &watching{
		env: e, opts: watchOptions{globals: o.globals, source: sourceAuto}, meter: newPLEGMeter(e.now),
		// Nobody asks how long calls took: that is in the metrics.
		calls: cri.NewCalls(e.now),
	}
	w.printer = newWatchPrinter(e, w.opts)
	shown := metrics.New(e.now)
	session, err := beginPLEG(ctx, e, o.globals, plegOptions{
		source: sourceAuto, observer: bothObservers{w.meter, shown}, operations: shown, calls: w.calls,
	})
	if err != nil {
		return err
	}
	defer session.Close()
	shown.Show(func() metrics.State {
		return metrics.State{Runtime: session.Pods(), PLEG: session.Health(), Unhinted: session.Unhinted(), Calls: w.calls.OldestByMethod()}
	})
	if o.listen != "" {
		l, err := net.Listen("tcp", o.listen)
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		server := control.Serve(l, control.Public([]control.Check{{Name: "pleg", Run: session.Healthy}}, shown.Handler()), e.log)
		defer func() { _ = server.Close() }() // it ends with us in any case
	}
	w.session, w.subject, w.began = session, session.Subscribe(), e.now()
	session.start(ctx)
	manager := daemon.NewManager(e.notify, func() bool { return session.Healthy() == nil })
	watched := make(chan struct{})
	defer close(watched)
	go manager.KeepAlive(watched)
	return w.run()
}

// bothObservers are told what a PLEG does.
type bothObservers struct{ first, second pleg.Observer }

func (b bothObservers) Relisted(took, interval time.Duration, err error) {
	b.first.Relisted(took, interval, err)
	b.second.Relisted(took, interval, err)
}

func (b bothObservers) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	b.first.PodRelisted(source, took, changed, err)
	b.second.PodRelisted(source, took, changed, err)
}

func (b bothObservers) StatusRead(took time.Duration, err error) {
	b.first.StatusRead(took, err)
	b.second.StatusRead(took, err)
}

func (b bothObservers) Hinted(latency time.Duration, backlog bool) {
	b.first.Hinted(latency, backlog)
	b.second.Hinted(latency, backlog)
}

func (b bothObservers) HintStream(err error) {
	b.first.HintStream(err)
	b.second.HintStream(err)
}
