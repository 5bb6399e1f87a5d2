package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/worker"
)

// The invariants of a node, whatever happens to it: judge watches the first five at
// every call of every podctl, the history asks for the others.
const (
	// oneLife: no two sandboxes of a pod's name are ready, and no container starts beside a
	// sandbox of its pod that is ready or was stopped and not removed, or while it runs.
	oneLife = "no two lives of a pod"
	// jobsRunOnce: a container that is to run once and has ended does not start again.
	jobsRunOnce = "a job runs once"
	// foreignUntouched: no call changes what podctl did not create.
	foreignUntouched = "no foreign pod is touched"
	// nameIsFree: a pod does not start while a foreign one of its name runs that was there before it.
	nameIsFree = "a pod waits for a foreign one of its name"
	// graceKept: a container that does not end by itself runs from the first request to stop
	// it for its grace period, and where the runtime works, not longer.
	graceKept = "graces are kept"
	// noPodIsLost: a desired pod is among the node's pods soon.
	noPodIsLost = "no pod is lost"
	// runsOrSaysWhy: a desired pod runs, or its status says why not, soon.
	runsOrSaysWhy = "a desired pod runs or says why not"
	// converges: once nothing is wrong any more, each desired pod runs, in its last version.
	converges = "a desired pod runs once nothing is in its way"
	// statusIsTrue: then its status shows the containers that the runtime runs.
	statusIsTrue = "a status is true"
	// nothingLeft: then nothing else is there, and after Drain nothing at all.
	nothingLeft = "nothing is left behind"
	// booksBalance: what the node keeps of all its pods agrees with each of them.
	booksBalance = "the books balance"
	// ordersEnd: to stop, start or evict a pod, to drain and to exit takes bounded time.
	ordersEnd = "an order comes to its end"
	// nothingElseFails: no call of the node fails that must not, none panics, and no
	// goroutine outlives its podctl.
	nothingElseFails = "nothing else fails"
)

const (
	// silence is how long a desired pod that does not run may say nothing, and how long it
	// may be missing.
	silence = time.Minute
	// hungSilence is silence while no status of a sandbox is answered: the manifests of the pods that have
	// to go are read one after the other, and nothing starts meanwhile.
	hungSilence = 3 * time.Minute
	// opLimit is how long one operation may take: calls that hang have deadlines.
	opLimit = 20 * time.Minute
	// cancelLimit is how long an operation may last that a stop has canceled, unless a call of it creates
	// or starts something.
	cancelLimit = 3 * time.Second
	// convergence is how long a node takes at most once nothing is wrong any more: the
	// longest back-off, and a call that still hangs.
	convergence = 6 * time.Minute
	// drainLimit is how long Drain may take where the runtime works.
	drainLimit = 2 * time.Minute
	// exitLimit is how long a podctl may take to exit.
	exitLimit = time.Minute
)

// checkPods looks at each pod that is desired of a podctl: it runs, or says why not.
func (h *history) checkPods(p *podctl) {
	if p == nil {
		return
	}
	for _, wrong := range p.books() {
		violate(h.t, booksBalance, "%s", wrong)
	}
	infos := map[types.UID]Info{}
	for _, i := range p.Pods() {
		infos[i.Pod.UID] = i
	}
	behind := map[types.UID]bool{} // another pod of their name
	for _, w := range p.Workers() {
		behind[w.UID] = w.NameHolder != ""
	}
	for uid, i := range infos {
		switch {
		case !i.Terminating() || i.Op != worker.OpSync || h.judge.isCreating():
			delete(p.stopping, uid)
		case p.stopping[uid].IsZero():
			p.stopping[uid] = time.Now()
		case time.Since(p.stopping[uid]) > cancelLimit:
			violate(h.t, ordersEnd, "%s: is to stop for %s", show(i), time.Since(p.stopping[uid]))
		}
	}
	for _, d := range p.wanted {
		uid := d.Pod.UID
		i, there := infos[uid]
		switch {
		case there && (matchesManifest(i, d) || saysWhy(i) || h.toldSuccess && i.Status.Phase == v1.PodSucceeded || behind[uid]), h.judge.mayBeTakenForUnknown(), !p.Settled():
			delete(p.silent, uid)
		case p.silent[uid].IsZero():
			p.silent[uid] = time.Now()
		case time.Since(p.silent[uid]) <= cmp.Or(h.silence, silence):
		case !there:
			violate(h.t, noPodIsLost, "%s %.8s is desired and not there", d.Pod.Name, uid)
		default:
			violate(h.t, runsOrSaysWhy, "%s does not run, and does not say why", show(i))
		}
		if there && i.Op != worker.OpNone && time.Since(i.OpSince) > opLimit {
			violate(h.t, ordersEnd, "%s: an operation in flight for %s", show(i), time.Since(i.OpSince))
		}
	}
	maps.DeleteFunc(p.silent, func(uid types.UID, _ time.Time) bool {
		return !slices.ContainsFunc(p.wanted, func(d Desired) bool { return d.Pod.UID == uid })
	})
}

// saysWhy reports whether the pod shows what it waits for.
func saysWhy(i Info) bool {
	if i.Rejected != nil || i.WaitReason() != "" || i.Op != worker.OpNone || i.LastError.Text != "" ||
		len(i.BackOffs) > 0 || len(i.Unready) > 0 || i.Stopped || i.Again || i.Terminating() {
		return true
	}
	if i.Status.Phase == v1.PodRunning { // as far as the runtime has said
		return !slices.ContainsFunc(i.Status.ContainerStatuses, func(c v1.ContainerStatus) bool {
			return c.State.Running == nil && c.State.Terminated == nil && (c.State.Waiting == nil || c.State.Waiting.Reason == "")
		})
	}
	if slices.ContainsFunc(i.Status.InitContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running != nil }) {
		return true
	}
	return i.WorkerPhase == worker.Finished && i.Status.Phase == v1.PodFailed && i.Status.Reason != "" // evicted, past its deadline
}

// show is a pod as a message shows it.
func show(i Info) string {
	return fmt.Sprintf("%s %.8s %q worker %s phase %s lifecycle %s desired %v again %v stopped %v rejected %v wait %s op %s since %s error %q",
		i.Pod.Name, i.Pod.UID, commandOf(i.Pod), i.WorkerPhase, i.Status.Phase, i.Lifecycle, i.Desired, i.Again, i.Stopped,
		i.Rejected, i.WaitReason(), i.Op, i.OpSince.Format("15:04:05"), i.LastError.Text)
}

// commandOf is what tells the versions of a pod apart, "" for a pod of which only the name is known.
func commandOf(p *v1.Pod) string {
	if len(p.Spec.Containers) == 0 {
		return ""
	}
	return p.Spec.Containers[0].Command[2]
}

// matchesManifest reports whether a pod does what its manifest says.
func matchesManifest(i Info, d Desired) bool {
	if !i.Desired || commandOf(i.Pod) != commandOf(d.Pod) {
		return false
	}
	switch d.Pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return i.WorkerPhase == worker.Finished
	case v1.RestartPolicyOnFailure:
		return i.WorkerPhase == worker.Syncing
	default:
		return running(i)
	}
}

// mustMatch asks for pods of the podctl that do what their manifests say now.
func (h *history) mustMatch(refs []string) {
	if h.podctl == nil {
		return
	}
	infos := h.podctl.Pods()
	for _, d := range h.desire(refs) {
		if !slices.ContainsFunc(infos, func(i Info) bool { return i.Pod.UID == d.Pod.UID && matchesManifest(i, d) }) {
			violate(h.t, converges, "%s does not do what its manifest says", d.Pod.Name)
		}
	}
}

// converge waits until the pods are what is asked for, and nothing else is there. One that was
// stopped or evicted, and whose manifest has not changed, is started by name.
func (h *history) converge(p *podctl) {
	settled := func() bool {
		infos := p.Pods()
		for _, i := range infos {
			if i.Stopped || i.WorkerPhase == worker.Finished && i.Pod.Spec.RestartPolicy != v1.RestartPolicyNever {
				_ = p.Start(h.t.Context(), "default", i.Pod.Name)
			}
		}
		for _, d := range p.wanted {
			if !slices.ContainsFunc(infos, func(i Info) bool { return i.Pod.UID == d.Pod.UID && matchesManifest(i, d) }) {
				return false
			}
		}
		return len(infos) == len(p.wanted)
	}
	for end := time.Now().Add(convergence); !settled(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			for _, i := range p.Pods() {
				violate(h.t, converges, "%d pods are asked for; %s", len(p.wanted), show(i))
			}
			return
		}
	}
	time.Sleep(10 * time.Second) // for what is removed after a pod runs
	h.checkHost(p)
}

// checkHost compares what the runtime and the host have with the pods of the one podctl.
func (h *history) checkHost(p *podctl) {
	wanted := map[string]bool{}
	for _, d := range p.wanted {
		wanted[string(d.Pod.UID)] = true
	}
	sandboxes, ready := map[string]string{}, map[string]int{}
	for _, s := range h.judge.ownSandboxes() {
		sandboxes[s.Id] = s.Metadata.Uid
		if !wanted[s.Metadata.Uid] {
			violate(h.t, nothingLeft, "sandbox %s", describe(s))
		}
		if isReadySandbox(s) {
			ready[s.Metadata.Uid]++
		}
	}
	for _, dir := range []string{"pods", "logs"} {
		if left := h.left(dir); len(left) > len(wanted) {
			violate(h.t, nothingLeft, "%d pods and in %s: %v", len(wanted), dir, left)
		}
	}
	cgroups, _ := h.cgroups.List()
	for _, uid := range cgroups {
		if !wanted[string(uid)] {
			violate(h.t, nothingLeft, "cgroup %.8s", uid)
		}
	}
	running := map[string]bool{}
	for _, c := range h.judge.containers() {
		running[c.Id] = isRunning(c) && sandboxes[c.PodSandboxId] != ""
	}
	for _, i := range p.Pods() {
		if i.Pod.Spec.RestartPolicy != v1.RestartPolicyAlways {
			continue // its containers come and go
		}
		if n := ready[string(i.Pod.UID)]; n != 1 {
			violate(h.t, statusIsTrue, "%d sandboxes are ready of %s", n, show(i))
		}
		for _, c := range i.Status.ContainerStatuses {
			if _, id, _ := strings.Cut(c.ContainerID, "://"); c.State.Running == nil || !running[id] {
				violate(h.t, statusIsTrue, "container %s of %s is not what the runtime runs: %+v", c.Name, show(i), c)
			}
		}
	}
}

// bounded has an order carried out, within so much time.
func (h *history) bounded(what string, limit time.Duration, order func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		order()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		// Nothing that the bubble waits for would end it.
		panic(violation{ordersEnd, fmt.Sprintf("%s takes longer than %s", what, limit)}.String())
	}
}
