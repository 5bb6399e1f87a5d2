package orphan

import (
	"context"
	"errors"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// StepFunc is called with each call before it is made, and again with the
// error if it failed.
type StepFunc func(call string, failure error)

func (s StepFunc) call(name string) { s(name, nil) }

// stopPod has a pod worker terminate a pod that only the runtime knows. It tries
// once: the worker would retry for ever.
func (k *Killer) stopPod(ctx context.Context, p *pod.Pod, step StepFunc) error {
	stopped := make(chan error, 1)
	workers := worker.New(worker.Options{Log: k.finder.Log, Ops: runtimeOnlyOps(func(ctx context.Context) error {
		err := k.finder.Client.TerminatePod(ctx, p, cri.TerminateOptions{
			Grace: k.Grace, Escalate: true, Remove: k.Remove, Step: step.call, DryRun: k.DryRun,
			Failed: step,
		})
		select {
		case stopped <- err:
		default: // a retry, for which no one waits
		}
		return err
	})})
	workers.KillRuntime(p, true)
	err := <-stopped
	return errors.Join(err, workers.Close(ctx))
}

// runtimeOnlyOps terminates a pod that only the runtime knows.
type runtimeOnlyOps func(ctx context.Context) error

var _ worker.Ops = runtimeOnlyOps(nil)

var errRuntimeOnly = errors.New("only the runtime knows the pod")

func (runtimeOnlyOps) Sync(context.Context, worker.SyncInput) (bool, error) {
	return false, errRuntimeOnly
}
func (runtimeOnlyOps) Terminate(context.Context, worker.TerminateInput) error { return errRuntimeOnly }
func (runtimeOnlyOps) Cleanup(context.Context, worker.CleanupInput) error     { return errRuntimeOnly }
func (stop runtimeOnlyOps) TerminateRuntime(ctx context.Context, _ *pod.Pod) error {
	return stop(ctx)
}
