package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/jobs"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/daemon"
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
	// pods are those of the manifests, want those of them that are no templates of Jobs.
	pods    []*manifest.Pod
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
	r.session.Set(runSource, r.pods, r.objects)
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
	records := r.session.Jobs()
	if len(records) < r.jobs() || slices.ContainsFunc(records, func(j jobs.Record) bool { return !r.jobSettled(j) }) {
		return false
	}
	// What the pods replace, and surplus pods of their workloads, are gone. r.last
	// keeps a pod that is gone as it was seen last.
	return !slices.ContainsFunc(r.session.Pods(), node.Info.Leaving)
}

// jobs counts the Jobs of the manifests.
func (r *running) jobs() int { return len(r.pods) - len(r.want) }

// jobSettled reports whether there is nothing more to wait for of a Job: it has ended or is suspended, or its
// pods are ready.
func (r *running) jobSettled(record jobs.Record) bool {
	j := record.Current()
	if j == nil || j.IsSuspended() || j.Finished() != nil {
		return j != nil
	}
	ready := false
	for _, i := range r.session.Pods() {
		if runview.IsOf(i, record) && !i.Ended() {
			if ready = i.Ready(); !ready {
				break
			}
		}
	}
	return r.opts.wait == waitReady && ready
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
func viewOptions(s *daemon.Session, format output.Format, ready bool) runview.Options {
	return runview.Options{
		Format: format, Ready: ready, NodeName: s.Facts.Name,
		LastLine: s.LastLine,
	}
}
