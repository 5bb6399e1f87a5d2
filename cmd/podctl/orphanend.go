package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/worker"
)

// endRuntimePod has a pod worker end a pod that only the runtime knows. One try:
// the worker would go on for ever.
func (k *orphanKiller) endRuntimePod(ctx context.Context, p *pod.Pod, step func(string)) error {
	ended := make(chan error, 1)
	workers := worker.New(worker.Options{Log: k.env.log, Ops: runtimeOnlyOps(func(ctx context.Context) error {
		err := endPod(ctx, k.client, p, endOptions{
			grace: k.opts.grace, escalate: true, remove: k.opts.remove, step: step, dryRun: k.opts.dryRun,
			failed: func(call string, err error) { step(call + " failed: " + oneLine(err.Error())) },
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

// removeFromHost removes what a pod of podctl's has beside the runtime: its
// cgroup, its directory and its logs. Of another pod there is nothing of these.
func (k *orphanKiller) removeFromHost(ctx context.Context, o *orphan, step func(string)) error {
	if o.creator == "" && o.dir == nil {
		return nil
	}
	dir := k.volumes.Dir(o.uid)
	if _, err := os.Lstat(dir); err == nil {
		step("remove " + dir)
		if !k.opts.dryRun {
			if err := k.volumes.Unmount(ctx, o.uid); err != nil {
				return err
			}
			if err := k.volumes.RemovePod(o.uid); err != nil {
				return err
			}
		}
	}
	if err := k.cgroups.Remove(o.uid); err != nil {
		return err
	}
	return k.removeLogs(o, step)
}

func (k *orphanKiller) removeLogs(o *orphan, step func(string)) error {
	n := render.Node{LogDir: k.paths.logs}
	logs := n.LogDirectory(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: o.name, UID: o.uid}})
	if o.name == "" || filepath.Dir(logs) != filepath.Clean(k.paths.logs) {
		return nil
	}
	if _, err := os.Lstat(logs); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	step("remove " + logs)
	if k.opts.dryRun {
		return nil
	}
	return os.RemoveAll(logs)
}
