package main

import (
	"context"
	"errors"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// endRuntimePod has a pod worker end a pod that only the runtime knows. One try:
// the worker would go on for ever.
func (k *orphanKiller) endRuntimePod(ctx context.Context, p *pod.Pod, step func(string)) error {
	ended := make(chan error, 1)
	workers := worker.New(worker.Options{Log: k.env.log, Ops: runtimeOnlyOps(func(ctx context.Context) error {
		err := k.client.TerminatePod(ctx, p, cri.TerminateOptions{
			Grace: k.opts.grace, Escalate: true, Remove: k.opts.remove, Step: step, DryRun: k.opts.dryRun,
			Failed: func(call string, err error) { step(call + " failed: " + output.OneLine(err.Error())) },
		})
		select {
		case ended <- err:
		default: // nobody waits for a second try
		}
		return err
	})})
	workers.KillRuntime(p, true)
	err := <-ended
	return errors.Join(err, workers.Close(ctx))
}

// runtimeOnlyOps end a pod of which only the runtime knows; there is no other.
type runtimeOnlyOps func(ctx context.Context) error

var _ worker.Ops = runtimeOnlyOps(nil)

var errRuntimeOnly = errors.New("only the runtime knows the pod")

func (runtimeOnlyOps) Sync(context.Context, worker.SyncInput) (bool, error) {
	return false, errRuntimeOnly
}
func (runtimeOnlyOps) Terminate(context.Context, worker.TerminateInput) error { return errRuntimeOnly }
func (runtimeOnlyOps) Cleanup(context.Context, worker.CleanupInput) error     { return errRuntimeOnly }
func (end runtimeOnlyOps) TerminateRuntime(ctx context.Context, _ *pod.Pod) error {
	return end(ctx)
}

// removeFromHost removes what a pod of podctl's has beside the runtime. Of
// another pod there is nothing of that.
func (k *orphanKiller) removeFromHost(ctx context.Context, o *orphan, step func(string)) error {
	if o.creator == "" && o.dir == nil {
		return nil
	}
	remains := host.Leftovers{Volumes: k.volumes, Cgroups: k.cgroups, Logs: k.paths.Logs, Step: step, DryRun: k.opts.dryRun}
	return remains.Remove(ctx, o.uid, o.namespace, o.name)
}
