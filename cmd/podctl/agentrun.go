package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/source"
)

// agent is one `podctl agent` under way.
type agent struct {
	env     *env
	opts    agentOptions
	session *session
	events  *queue
	updates chan sourceUpdate
	printer agentPrinter
	// read are the sources that were read, or could not be, at least once.
	read map[string]bool
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
	a.read = map[string]bool{}
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
	following.Go(func() { a.keepHouse(ctx) })
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
	manager := newManager(a.env.notify, a.healthy)
	watchdog, stop := manager.watchdog()
	defer stop()
	for {
		select {
		case u := <-a.updates:
			a.take(u)
			if len(a.read) == len(a.opts.sources()) {
				manager.ready()
			}
		case <-a.events.ready:
			a.drainEvents()
		case <-watchdog:
			manager.alive()
		case <-a.env.interrupts:
			manager.stopping()
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
	a.read[u.source] = true
}

// end leaves the pods as they are or, if that is asked for, ends them.
func (a *agent) end(ctx context.Context) error {
	a.drainEvents()
	if !a.opts.drain {
		a.printer.note(fmt.Sprintf("leaving %s as they are", plural(a.alive(), "pod")))
		return nil
	}
	a.printer.note(fmt.Sprintf("terminating %s, within %s · once more to leave them", plural(a.alive(), "pod"), a.opts.drainTimeout))
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
			return &leftError{pods: a.alive()}
		}
	}
}

// alive counts the pods that are not down.
func (a *agent) alive() int {
	n := 0
	for _, i := range a.session.Pods() {
		if !i.Ended() {
			n++
		}
	}
	return n
}

func (a *agent) drainEvents() {
	for _, ev := range a.events.take() {
		a.printer.event(ev)
	}
}

// manager is the service manager that started us, if one did (sd_notify).
type manager struct {
	notify  func(state string) (interval time.Duration)
	healthy func() bool
	told    bool
}

func newManager(notify func(string) time.Duration, healthy func() bool) *manager {
	if notify == nil {
		notify = func(string) time.Duration { return 0 }
	}
	return &manager{notify: notify, healthy: healthy}
}

// ready tells it once that the service has begun.
func (m *manager) ready() {
	if !m.told {
		m.told = true
		m.notify("READY=1")
	}
}

func (m *manager) stopping() { m.notify("STOPPING=1") }

// alive tells it that all is well, if it is: else the manager restarts us.
func (m *manager) alive() {
	if m.healthy() {
		m.notify("WATCHDOG=1")
	}
}

// watchdog ticks as often as the manager wants to hear that all is well; it is
// nil where it does not.
func (m *manager) watchdog() (ticks <-chan time.Time, stop func()) {
	interval := m.notify("")
	if interval <= 0 {
		return nil, func() {}
	}
	t := time.NewTicker(interval / 2)
	return t.C, t.Stop
}
