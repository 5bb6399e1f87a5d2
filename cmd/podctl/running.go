package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/logs"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// running is one `podctl run` in progress: it follows its pods, then terminates them.
type running struct {
	env     shell.Unblocked
	opts    runOptions
	session *daemon.Session
	// masked returns a text about a pod without values of its Secrets.
	masked  func(types.UID, string) string
	events  *output.Queue[event.Event]
	printer runview.Printer
	want    []node.Desired
	objects *pod.Objects
	logs    *runview.LogFollowers
	watcher *node.Watcher

	// last is each pod as it was seen last, in the order of first sight; a
	// pod that is removed stays in it, as it ended.
	last  map[types.UID]node.Info
	order []types.UID
}

// redrawPeriod is how often a countdown on a terminal moves.
const redrawPeriod = 250 * time.Millisecond

func (r *running) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	r.last = map[types.UID]node.Info{}
	r.logs = runview.FollowLogs(ctx, runview.LogOptions{Path: r.session.LogFile, Printer: r.printer, Disabled: !r.opts.logs, Room: r.env.Room})
	r.watcher = r.session.Watch()
	defer r.watcher.Stop()
	r.note()
	r.session.Set(runSource, r.want, r.objects)
	ran := make(chan error, 1)
	go func() { ran <- r.session.Run(ctx) }()

	err := r.follow(ctx)
	cancel()
	if runErr := <-ran; err == nil {
		err = runErr
	}
	r.drainEvents()
	return err
}

// note says beforehand which pods will not be what is waited for by
// themselves.
func (r *running) note() {
	if r.opts.wait != waitComplete {
		r.noteGates()
		return
	}
	var names []string
	for _, d := range r.want {
		if endless(d.Pod) {
			names = append(names, pod.DisplayName(d.Pod.Namespace, d.Pod.Name))
		}
	}
	if len(names) > 0 {
		r.printer.Note(fmt.Sprintf("%s: restartPolicy Always, runs until Ctrl-C", strings.Join(names, ", ")))
	}
}

// noteGates says which pods wait for a condition that podctl does not set.
func (r *running) noteGates() {
	for _, d := range r.want {
		for _, gate := range d.Pod.Spec.ReadinessGates {
			r.printer.Note(fmt.Sprintf("%s: its readiness gate %q takes a control plane: the pod does not become ready",
				pod.DisplayName(d.Pod.Namespace, d.Pod.Name), gate.ConditionType))
		}
	}
}

// follow shows what happens until the pods are settled, time is up or the
// user has had enough, and then ends them.
func (r *running) follow(ctx context.Context) error {
	var timeout <-chan time.Time
	if r.opts.waitTimeout > 0 {
		timer := time.NewTimer(r.opts.waitTimeout)
		defer timer.Stop()
		timeout = timer.C
	}
	redraw := time.NewTicker(redrawPeriod)
	defer redraw.Stop()
	shell.Settle()
	r.refresh()
	for !r.settled() {
		select {
		case <-r.events.Ready():
			r.drainEvents()
		case <-r.watcher.Changes():
			r.refresh()
		case <-redraw.C:
			r.printer.Refresh(r.infos())
		case <-timeout:
			return r.end(ctx, fmt.Errorf("not %s after %s", r.opts.wait, r.opts.waitTimeout))
		case <-r.env.Interrupts:
			return r.interrupted(ctx)
		}
	}
	r.refresh()
	return r.end(ctx, nil)
}

// settled reports whether there is nothing more to wait for.
func (r *running) settled() bool {
	for _, d := range r.want {
		i, ok := r.last[d.Pod.UID]
		if !ok {
			return false
		}
		if !i.Ended() && (r.opts.wait != waitReady || !i.Ready()) {
			return false
		}
	}
	// What the pods replace, and surplus pods of their workloads, are gone. r.last
	// keeps a pod that is gone as it was seen last.
	return !slices.ContainsFunc(r.session.Pods(), node.Info.Leaving)
}

// end judges the pods, then removes or keeps them. why is what cut the wait
// short, nil if nothing did.
func (r *running) end(ctx context.Context, why error) error {
	r.drainEvents()
	outcome := r.outcome()
	failures := outcome.Failures()
	results := r.infos()
	r.noteEnd(len(failures) == 0 && why == nil)
	if !r.opts.keep {
		if err := r.remove(ctx, r.opts.grace); err != nil {
			return err
		}
	}
	lost := r.waitForLogs(ctx)
	err := r.finish(ctx, results)
	r.warnOfLost(lost)
	if err != nil {
		return err
	}
	return outcome.Verdict(failures, why)
}

// noteEnd says what becomes of pods that still run: that they are terminated
// although they are ready, or that they are left alone.
func (r *running) noteEnd(ready bool) {
	alive := r.session.Alive()
	switch {
	case alive == 0:
	case r.opts.keep && r.session.Ephemeral(): // run has warned of it
	case r.opts.keep:
		r.printer.Note(fmt.Sprintf("leaving %s running: no probes and no restarts until podctl run or podctl agent adopts them", output.Plural(alive, "pod")))
	case ready && r.opts.wait == waitReady:
		r.printer.Note("ready: the run is over, and its pods are terminated; --keep leaves them running")
	}
}

// outcome is what the run is judged by.
func (r *running) outcome() *runview.Outcome {
	return &runview.Outcome{Want: r.want, Last: r.last, Ready: r.opts.wait == waitReady, Said: r.said}
}

// lastLines is how many of the last lines of a failed container are printed.
const lastLines = 20

// said returns what a container wrote last, without values of its pod's Secrets.
func (r *running) said(i node.Info, c v1.ContainerStatus) []string {
	lines, err := logs.Collect(r.session.LogFile(i.Pod, c.Name, c.RestartCount), logs.Options{Tail: lastLines})
	if err != nil || len(lines) == 0 {
		return nil // it has written nothing
	}
	var wrote []string
	for _, line := range lines {
		wrote = append(wrote, string(line.Text))
	}
	var said []string
	for line := range strings.SplitSeq(r.masked(i.Pod.UID, strings.Join(wrote, "\n")), "\n") { // a value may have several lines
		said = append(said, output.Printable(line))
	}
	return said
}

// interrupted ends the pods on the user's request.
func (r *running) interrupted(ctx context.Context) error {
	if r.opts.keep {
		r.noteEnd(false)
	} else if err := r.remove(ctx, r.opts.grace); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	var lost []error
	if !r.opts.keep {
		lost = r.logs.Wait(ctx, r.env.Interrupts)
	}
	_ = r.finish(ctx, r.infos()) // the run is interrupted, whatever becomes of its output
	r.warnOfLost(lost)
	return shell.ErrInterrupted
}

// finishTimeout is how long the output of an interrupted run waits for its reader, and
// how long the logs of pods that are kept are still printed.
const finishTimeout = 500 * time.Millisecond

// waitForLogs prints what the containers wrote; those of kept pods go on writing.
func (r *running) waitForLogs(ctx context.Context) []error {
	if r.opts.keep {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, finishTimeout)
		defer cancel()
	}
	return r.logs.Wait(ctx, r.env.Interrupts)
}

// warnOfLost says which logs could not be read, below a table on the terminal. The
// run is judged by its pods only.
func (r *running) warnOfLost(lost []error) {
	for _, err := range lost {
		fmt.Fprintf(r.env.Errw, "warning: --logs: %v\n", err)
	}
}

// finish prints how the pods ended, and waits until that is read, or an interrupt.
func (r *running) finish(ctx context.Context, infos []node.Info) error {
	return r.env.Finish(ctx, func() error {
		r.printer.Finish(infos)
		return nil
	})
}

// remove ends the pods and shows it. A first Ctrl-C while it does shortens
// the grace as far as it goes, a second one leaves the remaining pods.
func (r *running) remove(ctx context.Context, grace *int64) error {
	if n := r.session.Alive(); n > 0 {
		r.printer.Note(fmt.Sprintf("terminating %s, up to %ds · Ctrl-C again to force", output.Plural(n, "pod"), r.longestGrace(grace)))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	drained := make(chan error, 1)
	drain := func(grace *int64) { go func() { drained <- r.session.Drain(ctx, grace) }() }
	drain(grace)
	redraw := time.NewTicker(redrawPeriod)
	defer redraw.Stop()
	forced := false
	for {
		select {
		case err := <-drained:
			r.refresh()
			r.drainEvents()
			return err
		case <-r.events.Ready():
			r.drainEvents()
		case <-r.watcher.Changes():
			r.refresh()
		case <-redraw.C:
			r.printer.Refresh(r.infos())
		case <-r.env.Interrupts:
			if forced {
				return &leftError{pods: r.session.Alive()}
			}
			forced = true
			r.printer.Note("forcing · Ctrl-C again to leave the pods behind")
			now := int64(0)
			go func() { _ = r.session.Drain(ctx, &now) }() // the first Drain says how it ends
		}
	}
}

// leftError: the user left while pods were still being terminated.
type leftError struct{ pods int }

func (e *leftError) Error() string {
	return fmt.Sprintf("interrupted while terminating: %s left behind", output.Plural(e.pods, "pod"))
}

// Interrupted marks an interruption.
func (*leftError) Interrupted() {}

// Hint returns what to do about the pods.
func (*leftError) Hint() string { return "the same command again terminates them, and starts new ones" }

// longestGrace is the time, in seconds, that terminating may take.
func (r *running) longestGrace(grace *int64) int64 {
	longest := int64(0)
	for _, i := range r.session.Pods() {
		if g := i.Pod.Spec.TerminationGracePeriodSeconds; g != nil && !i.Ended() {
			longest = max(longest, *g)
		}
	}
	if grace != nil {
		return min(longest, *grace)
	}
	return longest
}

// refresh looks at the pods again.
func (r *running) refresh() {
	for _, i := range append(r.watcher.Gone(), r.session.Pods()...) {
		if _, ok := r.last[i.Pod.UID]; !ok {
			r.order = append(r.order, i.Pod.UID)
		}
		r.last[i.Pod.UID] = i
	}
	infos := r.infos()
	r.logs.Follow(infos)
	r.printer.Refresh(infos)
}

func (r *running) infos() []node.Info {
	infos := make([]node.Info, len(r.order))
	for n, uid := range r.order {
		infos[n] = r.last[uid]
	}
	slices.SortStableFunc(infos, func(a, b node.Info) int {
		return strings.Compare(a.Pod.Namespace+"/"+a.Pod.Name, b.Pod.Namespace+"/"+b.Pod.Name)
	})
	return infos
}

func (r *running) drainEvents() {
	for _, ev := range r.events.Take() {
		r.printer.Event(ev)
	}
}

// screenOf is where a run or an agent is shown.
func screenOf(e *shell.Env, g shell.Globals) runview.Screen {
	errTTY := shell.Terminal(output.Raw(e.Errw)) != nil
	return runview.Screen{Out: e.Out, Errw: e.Errw, ErrTTY: errTTY, TTY: e.TTY, Color: !g.NoColor && !e.NoColor, Size: e.Size, Now: e.Now}
}

// viewOptions say what is shown of a session's pods.
func viewOptions(s *daemon.Session, output string, ready bool) runview.Options {
	return runview.Options{
		Output: output, Ready: ready, NodeName: s.Facts.Name,
		LastLine: s.LastLine,
	}
}
