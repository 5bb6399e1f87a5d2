package pods

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

func startingCommand(e *shell.Env) *cmdline.Command {
	return stuckCommand(e, &cmdline.Command{
		Name:  "starting",
		Usage: "list pods that should run and do not: the step they are in, which layer is stuck, and the next command to try",
		Description: "A pod is listed if a podctl process or the kubelet desires it and a container of it does not\n" +
			"run, or is not ready; and if no owner of it is known, and its sandbox is being made or has no\n" +
			"container that was started.\n" +
			"STEP is how far it is: admission, host-port, device, queue, object, volume, sandbox, network,\n" +
			"pull, create, start, hook (postStart), init, startup-probe, readiness, restart. SINCE is how long\n" +
			"it has been there. LAYER is what it waits for: worker, admission, config, device, disk, volume,\n" +
			"network, registry, image, runtime, shim, cgroup, kernel, hook, probe, application, lock; - while\n" +
			"nothing is stuck, or if that is not known. What was observed, and the next commands, are below.\n",
	}, func(l *stuckLister) {
		l.columns, l.find, l.item = []string{"STEP", "CONTAINER", "LAYER"}, l.starting, startingItem
		l.reader.LogLines, l.reader.ProcessLog = logLines, readLog(e)
	})
}

// logLines is how many lines of the log of a container that failed are read.
const logLines = 3

// starting returns the starting ones of the pods that the user selects, and the pods of which the
// runtime lists nothing.
func (l *stuckLister) starting(ctx context.Context, all []*view.Pod, answers *owners.Answers) (starting, unlisted []*view.Pod) {
	k := l.kubelet(ctx, answers)
	_ = l.reader.SetKubelet(k)
	l.warnOfKubelet(k, all)
	l.reader.KernelLog = sync.OnceValues(l.env.ReadKills) // once for all pods
	scan := l.reader.Scan(ctx)
	unlisted = l.reader.UnlistedStarts(scan, all)
	starting = l.reader.Starts(ctx, scan, l.selected(all, unlisted))
	for _, p := range starting {
		if p != nil {
			why.Complete(p, l.env.Now())
		}
	}
	return starting, unlisted
}

// kubelet returns what is known of the kubelet of the runtime, which is asked by itself while
// the runtime does not answer.
func (l *stuckLister) kubelet(ctx context.Context, answers *owners.Answers) *owners.Kubelet {
	if answers != nil {
		return &answers.Kubelet
	}
	k, err := l.reader.AskConfiguredKubelet(ctx, l.opts.Runtime)
	if err != nil {
		l.env.Log.Warn("the kubelet is not asked", "err", err)
	}
	return k
}

// warnOfKubelet warns if the pods that a kubelet desires are not known.
func (l *stuckLister) warnOfKubelet(k *owners.Kubelet, all []*view.Pod) {
	err := k.Err
	switch {
	case k.FindErr != nil:
		err = k.FindErr
	case k.Process == nil:
		err = &kubelet.AbsentError{}
	}
	seen := k.Process != nil || slices.ContainsFunc(all, func(p *view.Pod) bool { return p.Kind() == view.KindKubelet })
	if err != nil && seen {
		l.warn.Do(func() { fmt.Fprintf(l.env.Errw, "warning: pods that a kubelet desires are not known: %v\n", err) })
	}
}

// readLog returns a reader of the end of the log of a process.
func readLog(e *shell.Env) func(context.Context, int) ([]byte, error) {
	if e.Recording != nil {
		return nil
	}
	return func(ctx context.Context, pid int) ([]byte, error) {
		files, err := report.ReadLog(ctx, e.Procs, pid, report.Journalctl)
		if len(files) == 0 {
			return nil, err
		}
		return files[0].Data, nil
	}
}
