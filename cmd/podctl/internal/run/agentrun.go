package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/desired/source"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/daemon"
)

// agent is a running `podctl agent`.
type agent struct {
	env       *shell.Env
	opts      agentOptions
	session   *daemon.Session
	events    *output.Queue[event.Event]
	updates   chan sourceUpdate
	printer   runview.AgentPrinter
	admission *source.Admitter
	// read holds the pods of each source that was tried at least once.
	read map[string][]*manifest.Pod
	// duplicates are the pods of two sources that were reported.
	duplicates map[string]bool
}

// sourceUpdate is what a source delivered.
type sourceUpdate struct {
	source string
	source.Update
}

// run runs the pods until the agent is told to stop. All goroutines that it
// starts have ended when it returns.
func (a *agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.read, a.duplicates, a.admission = map[string][]*manifest.Pod{}, map[string]bool{}, source.NewAdmitter()
	var following sync.WaitGroup
	for _, name := range a.opts.sources() {
		following.Go(func() {
			source.Follow(ctx, name, source.Options{
				ObjectsOnly: slices.Contains(a.opts.configFrom, name),
				Load:        a.opts.manifest, Strict: a.opts.strict,
				FileCheck: a.opts.fileCheck, HTTPCheck: a.opts.httpCheck,
				RanManifest: func(p *manifest.Pod) bool { return a.session.RanManifest(p.UID, p.Document) },
				Deliver: func(u source.Update) {
					select {
					case a.updates <- sourceUpdate{name, u}:
					case <-ctx.Done():
					}
				},
			})
		})
	}
	following.Go(func() { a.session.RunHousekeeping(ctx, a.opts.house) })
	ran := make(chan error, 1)
	go func() { ran <- a.session.Run(ctx) }()
	err := a.follow(ctx)
	cancel()
	following.Wait()
	if runErr := <-ran; err == nil {
		err = runErr
	}
	a.drainEvents()
	return err
}

// follow applies what the sources deliver, until an interrupt.
func (a *agent) follow(ctx context.Context) error {
	manager := daemon.NewManager(a.env.Notify, a.healthy)
	watchdog, stop := manager.Watchdog()
	defer stop()
	for {
		select {
		case u := <-a.updates:
			a.apply(u)
			if len(a.read) == len(a.opts.sources()) {
				manager.Ready()
			}
		case <-a.events.Ready():
			a.drainEvents()
		case <-watchdog:
			manager.Alive()
		case <-a.env.Interrupts:
			manager.Stopping()
			return a.stop(ctx)
		}
	}
}

// healthy reports whether the node's sync loop runs.
func (a *agent) healthy() bool { return a.session.LoopHealthy() == nil }

// apply passes the pods of a source to the node and prints its notices. Objects of any
// source apply to the pods of all.
func (a *agent) apply(u sourceUpdate) {
	for _, n := range u.Notices {
		a.printer.Notice(n)
	}
	a.read[u.source] = u.Pods
	a.admission.SetSource(u.source, u.Update)
	for _, n := range a.admission.AdmitAll(a.opts.strict, len(a.read) == len(a.opts.sources())) {
		a.printer.Notice(n)
	}
	// Its own pods come last: once all sources were read pods start.
	for _, name := range append(slices.DeleteFunc(a.admission.TakeStale(), func(name string) bool { return name == u.source }), u.source) {
		a.setDesired(name)
	}
	a.reportDuplicates()
}

// setDesired passes the admitted pods of a source to the node.
func (a *agent) setDesired(name string) {
	admitted, objects, partly := a.admission.Admitted(name)
	if partly {
		a.session.SetPartly(name, admitted, objects)
	} else {
		a.session.Set(name, admitted, objects)
	}
}

// reportDuplicates reports once, for each pod in two sources, which one the node
// runs: that of the first source by name.
func (a *agent) reportDuplicates() {
	first, duplicates := map[string]*manifest.Pod{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(a.read)) {
		for _, p := range a.read[name] {
			full := pod.DisplayName(p.Namespace, p.Name)
			if first[full] == nil {
				first[full] = p
				continue
			}
			text := fmt.Sprintf("pod %s is also defined at %s:%d, which is used", full, first[full].File, first[full].Line)
			problem := manifest.Problem{File: p.File, Line: p.Line, Message: text, Hint: "rename one of them, or remove one file"}
			if duplicates[problem.String()] = true; !a.duplicates[problem.String()] {
				a.printer.Notice(source.Notice{Level: source.Failed, Problem: problem})
			}
		}
	}
	a.duplicates = duplicates
}

// stop leaves the pods running or, with --drain, terminates them.
func (a *agent) stop(ctx context.Context) error {
	a.drainEvents()
	if !a.opts.drain {
		a.noteLeft()
		return nil
	}
	a.printer.Note(fmt.Sprintf("terminating %s within %s · interrupt again to leave them", output.Plural(a.session.Alive(), "pod"), a.opts.drainTimeout))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- a.session.Shutdown(ctx, a.opts.drainTimeout) }()
	for {
		select {
		case err := <-done:
			if errors.Is(err, node.ErrPodsLeft) {
				return fmt.Errorf("after %s: %w", a.opts.drainTimeout, err)
			}
			return err
		case <-a.events.Ready():
			a.drainEvents()
		case <-a.env.Interrupts:
			return &leftError{pods: a.session.Alive()}
		}
	}
}

// noteLeft says what becomes of pods that still run.
func (a *agent) noteLeft() {
	alive := a.session.Alive()
	switch {
	case alive == 0:
	case a.session.Ephemeral():
		a.printer.Note(fmt.Sprintf("the simulated runtime ends, and %s with it", output.Plural(alive, "pod")))
	default:
		a.printer.Note(fmt.Sprintf("leaving %s running", output.Plural(alive, "pod")))
	}
}

func (a *agent) drainEvents() {
	for _, ev := range a.events.Take() {
		a.printer.Event(ev)
	}
}
