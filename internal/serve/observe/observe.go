package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/host"
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

// Options configure an observer.
type Options struct {
	// Connect connects to the runtime; disconnect is never nil.
	Connect func(context.Context, cri.CallWatcher, cri.Observer) (client *cri.Client, disconnect func(), err error)
	// Paths are podctl's directories on a runtime. SkipDirs: they are not looked at.
	Paths    func(cri.Endpoint) (host.Paths, error)
	SkipDirs func(cri.Endpoint) bool
	// Listen is where metrics and health are served: HOST:PORT, "" for nowhere.
	Listen string
	// Scan is the time between two counts of orphans and stuck terminations; 0 for no
	// counts. Without Listen nothing would read them.
	Scan time.Duration
	// Instance is the name under which events are recorded.
	Instance string
	// Meter and Calls observe the PLEG and the calls of the runtime.
	Meter *plegstat.Meter
	Calls *cri.Calls
	// Retries reports whether an error is that of a runtime that is tried again, and says so the
	// first time.
	Retries func(err error, first bool) bool
	// UntilInterrupted calls a function with a context that the first interrupt cancels.
	UntilInterrupted func(context.Context, func(context.Context) error) error
	Survey           survey.NodeOptions // without what is of the runtime
	// Alive reports whether the watch goes on; Notify may be nil.
	Alive  func() bool
	Notify func(state string) time.Duration
	Now    func() time.Time
	Log    *slog.Logger
}

// Run connects to the runtime, and calls watch with a session that has not been started; seen
// is to be called for each event.
func Run(ctx context.Context, o Options, watch func(s *plegstat.Session, seen func(plegstat.Event)) error) error {
	exporter := metrics.NewObserver(o.Now)
	o.Meter.Next = exporter
	j := &connector{Options: o, operations: exporter, disconnect: func() {}}
	if o.Listen != "" {
		l, err := net.Listen("tcp", o.Listen)
		if err != nil {
			return fmt.Errorf("serve metrics: %w", err)
		}
		checks := []control.Check{{Name: "pleg", Runtime: true, Run: j.healthy}}
		server := control.ServePublic(l, control.Public(checks, exporter.Handler()), o.Log)
		defer func() { _ = server.Close() }() // the process ends anyway
		exporter.SetStateFunc(func() metrics.State {
			return metrics.State{Connecting: true, Unhealthy: j.healthy(), Calls: o.Calls.Unanswered()}
		})
	}
	defer func() { j.disconnect() }()
	if err := o.UntilInterrupted(ctx, j.connect); err != nil {
		return err
	}
	session := j.session
	defer session.Close()
	endpoint := session.Client.Endpoint()
	paths, err := o.Paths(endpoint)
	if err != nil {
		return err
	}
	var scanner *survey.Scanner
	if o.Listen != "" && o.Scan > 0 {
		o.Survey.Client, o.Survey.Paths, o.Survey.SkipDirs = session.Client, paths, o.SkipDirs(endpoint)
		scanner = survey.NewScanner(survey.NewNode(o.Survey), o.Scan, o.Now, o.Log)
		scanning, cancel := context.WithCancel(ctx)
		var scans sync.WaitGroup
		defer scans.Wait()
		defer cancel()
		scans.Go(func() { scanner.Run(scanning) })
	}
	exporter.SetStateFunc(func() metrics.State { return o.state(session, scanner) })
	seen, stop := o.record(endpoint, paths)
	defer stop()
	watched := make(chan struct{})
	defer close(watched)
	go daemon.NewManager(o.Notify, o.Alive).KeepAlive(watched)
	return watch(session, seen)
}

// state is what the metrics show; scanner is nil without counts.
func (o Options) state(session *plegstat.Session, scanner *survey.Scanner) metrics.State {
	s := metrics.State{
		Runtime: session.Pods(), PLEG: session.Health(), Unhealthy: session.Healthy(), Unhinted: session.Unhinted(), Calls: o.Calls.Unanswered(),
	}
	if scanner != nil {
		latest := scanner.Latest()
		s.Survey = &latest
	}
	return s
}

// record returns what records an event in the journal, except for a simulated runtime, which
// has no files.
func (o Options) record(endpoint cri.Endpoint, paths host.Paths) (seen func(plegstat.Event), stop func()) {
	if endpoint.Runtime == cri.SimEndpoint {
		return func(plegstat.Event) {}, func() {}
	}
	if err := os.MkdirAll(paths.Root, 0o755); err != nil {
		o.Log.Warn("events are not recorded", "err", err)
		return func(plegstat.Event) {}, func() {}
	}
	recorded := journal.NewWriter(journal.Dir(paths.Root), o.Instance, o.Now, o.Log)
	return func(ev plegstat.Event) {
		if observed, ok := observedEvent(ev); ok {
			recorded.Write(observed)
		}
	}, func() { _ = recorded.Close() } // it returns no error
}

// connector connects to the runtime, until it answers.
type connector struct {
	Options
	operations cri.Observer
	disconnect func()

	mu      sync.Mutex
	session *plegstat.Session // nil before it is connected
	failure error             // of the last attempt
}

// ConnectPause is the time between two attempts to reach the runtime.
const ConnectPause = 2 * time.Second

// errNotConnected is why an observer is not ready before its first attempt has ended.
var errNotConnected = errors.New("not connected to the runtime yet")

// healthy returns why the observer is not ready, nil if it is.
func (j *connector) healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.session != nil {
		return j.session.Healthy()
	}
	return cmp.Or(j.failure, errNotConnected)
}

// connect connects, again where metrics are served and the runtime does not answer, until ctx ends.
func (j *connector) connect(ctx context.Context) error {
	for warned := false; ; warned = true {
		session, err := j.connectOnce(ctx)
		j.mu.Lock()
		j.session, j.failure = session, err
		j.mu.Unlock()
		if err == nil || j.Listen == "" || !j.Retries(err, !warned) {
			return err
		}
		select {
		case <-time.After(ConnectPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (j *connector) connectOnce(ctx context.Context) (*plegstat.Session, error) {
	client, disconnect, err := j.Connect(ctx, j.Calls, j.operations)
	if err != nil {
		return nil, err
	}
	s, err := plegstat.Open(ctx, client, plegstat.SessionOptions{Source: plegstat.AutoSource, Observer: j.Meter, Log: j.Log, Now: j.Now})
	if err != nil {
		disconnect()
		return nil, err
	}
	j.disconnect = disconnect
	return s, nil
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
