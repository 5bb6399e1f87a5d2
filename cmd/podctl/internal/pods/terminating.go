package pods

import (
	"context"
	"fmt"
	"slices"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/view"
)

func terminatingCommand(e *shell.Env) *cmdline.Command {
	return stuckCommand(e, &cmdline.Command{
		Name:  "terminating",
		Usage: "list terminating pods: what still runs, which layer is stuck, and the next command to try",
		Description: "A pod is listed if the podctl process that owns it terminates it. Other pods are listed on\n" +
			"evidence: their podctl process exited while it terminated them; the sandbox has stopped and\n" +
			"containers still run, or the network of a pod that nothing manages was not torn down; a\n" +
			"process has exited, or has a signal pending, although the runtime reports it as running;\n" +
			"their shim is stopped; the kubelet names them as deleted, as failed or succeeded while they\n" +
			"run, or no longer.\n" +
			"GRACE is the rest of the grace period, negative once it is exceeded. LAYER is what the pod\n" +
			"waits for: hook (preStop), process, cgroup (frozen), shim, runtime, network, volume, lock or\n" +
			"worker; - while nothing is stuck. A process that podctl cannot see is shown as hidden.\n",
	}, func(l *stuckLister) {
		l.columns, l.find, l.item = []string{"GRACE", "RUNNING", "LAYER", "LAST ERROR"}, l.terminating, terminatingItem
		l.reader.CountUndesired = true
	})
}

// terminating returns the terminating ones of the pods that the user selects, and the pods that
// only their directories show.
func (l *stuckLister) terminating(ctx context.Context, all []*view.Pod, answers *owners.Answers) (terminating, unlisted []*view.Pod) {
	if answers != nil {
		err := l.reader.SetKubelet(&answers.Kubelet)
		if err != nil && slices.ContainsFunc(all, func(p *view.Pod) bool { return p.Kind() == view.KindKubelet }) {
			l.warn.Do(func() {
				fmt.Fprintf(l.env.Errw, "warning: pods of a kubelet are listed on evidence of their processes only: %v\n", err)
			})
		}
	}
	unlisted = l.reader.UnlistedEndings(all)
	return l.reader.Endings(ctx, l.selected(all, unlisted)), unlisted
}
