package main

import (
	"context"
	"fmt"
	"net"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/metrics"
	"github.com/podctl/podctl/internal/plegstat"
)

// runObserve watches the runtime, prints its events, and serves metrics and
// health of pods that others manage. It starts no pod and takes no lock.
func runObserve(ctx context.Context, e *shell.Env, o agentOptions) error {
	w := &watchSession{
		env: e, opts: watchOptions{Globals: o.Globals, source: sourceAuto}, meter: plegstat.NewMeter(e.Now), calls: cri.NewCalls(e.Now),
	}
	w.printer = newWatchPrinter(e, w.opts)
	shown := metrics.NewObserver(e.Now)
	session, err := beginPLEG(ctx, e, o.Globals, plegOptions{
		source: sourceAuto, observer: plegstat.Tee{w.meter, shown}, operations: shown, calls: w.calls,
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
		server := control.ServePublic(l, control.Public([]control.Check{{Name: "pleg", Runtime: true, Run: session.Healthy}}, shown.Handler()), e.Log)
		defer func() { _ = server.Close() }() // the process ends anyway
	}
	w.session, w.subject, w.began = session, session.Subscribe(), e.Now()
	session.start(ctx)
	manager := daemon.NewManager(e.Notify, w.alive)
	watched := make(chan struct{})
	defer close(watched)
	go manager.KeepAlive(watched)
	return w.run()
}
