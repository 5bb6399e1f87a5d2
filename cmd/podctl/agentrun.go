package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/source"
)

// agent is one `podctl agent` under way.
type agent struct {
	env     *env
	opts    agentOptions
	session *daemon.Session
	events  *queue
	updates chan sourceUpdate
	printer agentPrinter
	// read is what the sources want that were read, or could not be, at least
	// once.
	read map[string][]*manifest.Pod
	// twins are the pods of two sources that it was said of.
	twins map[string]bool
}

// sourceUpdate is what a source delivered.
type sourceUpdate struct {
	source string
	source.Update
}

// run drives the pods until the agent is told to end. All it starts has ended
// when it returns.
func (a *agent) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.read, a.twins = map[string][]*manifest.Pod{}, map[string]bool{}
	var following sync.WaitGroup
	for _, name := range a.opts.sources() {
		following.Go(func() {
			source.Follow(ctx, name, source.Options{
				ObjectsOnly: slices.Contains(a.opts.configFrom, name),
				Replicas:    a.opts.replicas, Strict: a.opts.strict,
				FileCheck: a.opts.fileCheck, HTTPCheck: a.opts.httpCheck,
				Deliver: func(u source.Update) {
					select {
					case a.updates <- sourceUpdate{name, u}:
					case <-ctx.Done():
					}
				},
			})
		})
	}
	following.Go(func() { a.session.KeepHouse(ctx, a.opts.house) })
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

// follow takes what the sources deliver, until an interrupt.
func (a *agent) follow(ctx context.Context) error {
	manager := daemon.NewManager(a.env.notify, a.healthy)
	watchdog, stop := manager.Watchdog()
	defer stop()
	for {
		select {
		case u := <-a.updates:
			a.take(u)
			if len(a.read) == len(a.opts.sources()) {
				manager.Ready()
			}
		case <-a.events.ready:
			a.drainEvents()
		case <-watchdog:
			manager.Alive()
		case <-a.env.interrupts:
			manager.Stopping()
			return a.end(ctx)
		}
	}
}

// healthy tells whether the node does its work.
func (a *agent) healthy() bool { return a.session.LoopHealthy() == nil }

// take hands what a source wants to the node, and says what there is to say.
func (a *agent) take(u sourceUpdate) {
	for _, n := range u.Notices {
		a.printer.notice(n)
	}
	var pods []node.Desired
	for _, p := range u.Pods {
		pods = append(pods, node.Desired{Pod: p.Pod, Document: p.Document})
	}
	if u.Partial {
		a.session.SetPartly(u.source, pods, u.Objects)
	} else {
		a.session.Set(u.source, pods, u.Objects)
	}
	a.read[u.source] = u.Pods
	a.sayTwins()
}

// sayTwins says once of each pod that two sources name, which one the node
// takes: that of the first source by name.
func (a *agent) sayTwins() {
	first, twins := map[string]*manifest.Pod{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(a.read)) {
		for _, p := range a.read[name] {
			full := pod.DisplayName(p.Namespace, p.Name)
			if first[full] == nil {
				first[full] = p
				continue
			}
			text := fmt.Sprintf("pod %s is also the one at %s:%d, which counts", full, first[full].File, first[full].Line)
			problem := manifest.Problem{File: p.File, Line: p.Line, Message: text, Hint: "give one of them another name, or remove one file"}
			if twins[problem.String()] = true; !a.twins[problem.String()] {
				a.printer.notice(source.Notice{Level: source.Failed, Problem: problem})
			}
		}
	}
	a.twins = twins
}

// end leaves the pods as they are or, if that is asked for, ends them.
func (a *agent) end(ctx context.Context) error {
	a.drainEvents()
	if !a.opts.drain {
		a.printer.note(fmt.Sprintf("leaving %s running", output.Plural(a.session.Alive(), "pod")))
		return nil
	}
	a.printer.note(fmt.Sprintf("terminating %s, within %s · once more to leave them", output.Plural(a.session.Alive(), "pod"), a.opts.drainTimeout))
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
		case <-a.events.ready:
			a.drainEvents()
		case <-a.env.interrupts:
			return &leftError{pods: a.session.Alive()}
		}
	}
}

func (a *agent) drainEvents() {
	for _, ev := range a.events.take() {
		a.printer.event(ev)
	}
}
