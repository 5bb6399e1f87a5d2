package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/node"
)

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
	return &runview.Outcome{Want: r.want, Jobs: r.session.Jobs(), Last: r.last, Ready: r.opts.wait == waitReady, Said: r.said}
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
