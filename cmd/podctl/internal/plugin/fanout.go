package plugin

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/fleet/cluster"
	"github.com/podctl/podctl/internal/sys/hint"
)

// inFlight is the number of nodes on which the command runs at the same time.
const inFlight = 50

// gcPercent is the garbage collector's: most of what an
// answer takes is garbage once it was read.
const gcPercent = 50

// askAll runs the command on each target, and returns the answers in their order.
func (r *run) askAll(ctx context.Context, targets []fleet.Target) []answer {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	answers := make([]answer, len(targets))
	left := newBudget()
	var asking errgroup.Group
	asking.SetLimit(inFlight)
	for i, target := range targets {
		asking.Go(func() error {
			answers[i] = r.ask(ctx, target, left)
			return nil
		})
	}
	_ = asking.Wait() // no function fails
	return answers
}

// ask runs the command on one target.
func (r *run) ask(ctx context.Context, target fleet.Target, left *budget) answer {
	a := answer{Outcome: fleet.Outcome{Node: target.Node, Failure: target.Failure}}
	if target.Failure != nil {
		return a
	}
	ctx, cancel := r.within(ctx, defaultNodeTimeout)
	defer cancel()
	out, errw := &answerBuffer{budget: left}, &errorBuffer{}
	err := ctx.Err()
	if err == nil {
		err = r.client.Exec(ctx, r.exec(target, out, errw))
	}
	stdout := out.close()
	a.ExitCode, a.Failure = failureOf(err)
	a.stderr = errw.String()
	switch {
	case a.Failure == nil:
		a.read(stdout, r.as)
		a.named(r.retained, r.list.IsTable())
	case r.as == asText:
		a.text = string(stdout) // as far as it came
	}
	a.hint = hint.Of(err)
	switch extra := a.size() - len(stdout); {
	case extra <= 0:
		left.give(-extra)
	case !left.take(extra):
		left.give(len(stdout))
		a.list, a.text = output.List{}, ""
		a.Failure = &fleet.Failure{Reason: fleet.TooLarge, Message: errAllTooBig.Error()}
	}
	return a
}

// exec is the command on a target.
func (r *run) exec(target fleet.Target, out, errw io.Writer) cluster.Exec {
	x := cluster.Exec{Namespace: r.options.inspectorNS, Pod: target.Pod, Container: container, Command: r.command, Stdout: out, Stderr: errw}
	if r.manifests != nil {
		x.Stdin = bytes.NewReader(r.manifests)
	}
	return x
}
