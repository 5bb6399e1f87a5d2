package pleg

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/serve/journal"
	"github.com/podctl/podctl/internal/serve/metrics"
	"github.com/podctl/podctl/internal/serve/survey"
)

// ObserveOptions are the options of `podctl agent --observe`.
type ObserveOptions struct {
	shell.Globals
	Format output.Format
	// Listen is where metrics and health are served: HOST:PORT, "" for nowhere.
	Listen string
	// Scan is the time between two counts of orphans and stuck terminations; 0 for no
	// counts.
	Scan time.Duration
	// Instance is the name under which events are recorded.
	Instance string
}

// Observe watches the runtime, prints its events, and serves metrics and
// health of pods that others manage. It starts no pod and takes no lock.
func Observe(ctx context.Context, e *shell.Env, o ObserveOptions) error {
	w := &watchSession{
		env: e, opts: watchOptions{Globals: o.Globals, format: o.Format, source: sourceAuto}, meter: plegstat.NewMeter(e.Now), calls: cri.NewCalls(e.Now),
	}
	w.printer = newWatchPrinter(e, w.opts)
	shown := metrics.NewObserver(e.Now)
	joining := &joining{env: e}
	if o.Listen != "" {
		l, err := net.Listen("tcp", o.Listen)
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		checks := []control.Check{{Name: "pleg", Runtime: true, Run: joining.healthy}}
		server := control.ServePublic(l, control.Public(checks, shown.Handler()), e.Log)
		defer func() { _ = server.Close() }() // the process ends anyway
		joining.retries = true
		shown.SetStateFunc(func() metrics.State {
			return metrics.State{Connecting: true, Unhealthy: joining.healthy(), Calls: w.calls.Unanswered()}
		})
	}
	session, err := joining.join(ctx, o.Globals, sessionOptions{
		source: sourceAuto, observer: plegstat.Observers{w.meter, shown}, operations: shown, calls: w.calls,
	})
	if err != nil {
		return err
	}
	defer session.Close()
	scanner, err := newScanner(e, o, session.client)
	if err != nil {
		return err
	}
	shown.SetStateFunc(func() metrics.State {
		s := metrics.State{
			Runtime: session.Pods(), PLEG: session.Health(), Unhealthy: session.Healthy(), Unhinted: session.Unhinted(), Calls: w.calls.Unanswered(),
		}
		if scanner != nil {
			latest := scanner.Latest()
			s.Survey = &latest
		}
		return s
	})
	stop, err := w.record(session.client.Endpoint(), o.Instance)
	if err != nil {
		return err
	}
	defer stop()
	w.session, w.subject, w.began = session, session.Subscribe(), e.Now()
	session.start(ctx)
	if scanner != nil {
		scanning, cancel := context.WithCancel(ctx)
		var scans sync.WaitGroup
		defer scans.Wait()
		defer cancel()
		scans.Go(func() { scanner.Run(scanning) })
	}
	manager := daemon.NewManager(e.Notify, w.alive)
	watched := make(chan struct{})
	defer close(watched)
	go manager.KeepAlive(watched)
	return w.run()
}

// newScanner returns what counts orphans and stuck terminations, nil without
// --listen, where nothing would read the counts, and with --scan-period 0.
func newScanner(e *shell.Env, o ObserveOptions, client *cri.Client) (*survey.Scanner, error) {
	if o.Listen == "" || o.Scan == 0 {
		return nil, nil
	}
	paths, err := o.Paths(client.Endpoint())
	if err != nil {
		return nil, err
	}
	node := survey.NewNode(survey.NodeOptions{
		Client: client, Paths: paths, SkipDirs: client.Endpoint().Runtime == cri.SimEndpoint && !e.SimOutlives, Dial: e.Dial, Procs: e.Procs, Now: e.Now, Log: e.Log,
	})
	return survey.NewScanner(node, o.Scan, e.Now, e.Log), nil
}

// record records the events that are printed in the journal, except those of a
// simulated runtime, which has no files.
func (w *watchSession) record(endpoint cri.Endpoint, instance string) (stop func(), err error) {
	if endpoint.Runtime == cri.SimEndpoint {
		return func() {}, nil
	}
	paths, err := w.opts.Paths(endpoint)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(paths.Root, 0o755); err != nil {
		w.env.Log.Warn("events are not recorded", "err", err)
		return func() {}, nil
	}
	recorded := journal.NewWriter(journal.Dir(paths.Root), instance, w.env.Now, w.env.Log)
	w.seen = func(ev plegstat.Event) {
		if observed, ok := observedEvent(ev); ok {
			recorded.Write(observed)
		}
	}
	return func() { _ = recorded.Close() }, nil // it returns no error
}

// observedEvent returns an event of the PLEG as the journal has it; ok is false if
// nothing happened to a container or sandbox.
func observedEvent(ev plegstat.Event) (_ event.Event, ok bool) {
	observed := event.Event{Time: ev.Received, Namespace: ev.Namespace, Name: ev.Name, UID: ev.PodUID, Container: ev.Container, Warning: ev.Failed()}
	if happened := ev.Happened(); !happened.IsZero() {
		observed.Time = happened
	}
	c, s := ev.ContainerStatus(), ev.SandboxStatus()
	switch ev.Type {
	case pleg.ContainerStarted:
		observed.Reason = event.ContainerStarted
		if s != nil {
			observed.Addresses = s.IPs
		}
		if c != nil {
			observed.Attempt = int32(c.Attempt)
		}
	case pleg.ContainerDied:
		observed.Reason = event.ContainerDied
		if c != nil {
			observed.Attempt, observed.Exit = int32(c.Attempt), exitOf(c)
		}
	case pleg.ContainerRemoved:
		observed.Reason = event.ContainerRemoved
	default:
		return event.Event{}, false
	}
	return observed, true
}

// exitOf returns how a container ended. Its message, which may hold what its owner
// masks, is left out.
func exitOf(c *pod.ContainerStatus) *event.Exit {
	if c.State != pod.Exited {
		return nil
	}
	return event.ExitOf(&v1.ContainerStateTerminated{
		ExitCode: c.ExitCode, Reason: c.Reason, StartedAt: metav1.NewTime(c.StartedAt), FinishedAt: metav1.NewTime(c.FinishedAt),
	})
}
