package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// heldPod is one pod of a runtime as everybody sees it who has to do with it.
type heldPod struct {
	uid             types.UID
	namespace, name string
	// pod is what the runtime lists; nil of a pod of which it holds nothing.
	pod *pod.Pod
	// manager is the living podctl that has to do with the pod, nil if none
	// does; worker is how that sees it.
	manager *control.Client
	worker  control.Worker
	// creator is the podctl that made the pod's newest sandbox, "" if none did;
	// alive tells whether it, or another one that took the pod over, lives.
	creator string
	alive   bool
	// status is what the runtime's status calls say; nil where nobody asked.
	status *pod.Status
}

// liveWorkers are the pods of one living podctl.
type liveWorkers struct {
	client  *control.Client
	workers []control.Worker
	err     error
}

// askTimeout is how long a podctl may take to say what its pods are doing. It
// answers from memory.
const askTimeout = 2 * time.Second

// askPodctls asks the living podctls what their pods are doing, and returns at
// once; answers waits for them.
func askPodctls(ctx context.Context, e *env, dir string) (answers func() []liveWorkers, err error) {
	clients, err := control.Find(dir, e.dial)
	if errors.Is(err, fs.ErrPermission) {
		// The runtime's socket is root's, too, or else its listing is an answer.
		e.log.Warn("podctls are not asked", "err", err)
	} else if err != nil {
		return nil, err
	}
	var live []liveWorkers
	var asking sync.WaitGroup
	asking.Go(func() { live = askWorkers(ctx, clients) })
	return func() []liveWorkers { asking.Wait(); return live }, nil
}

// heldPods puts together what the runtime lists and what the living podctls
// say, which are asked at the same time. A podctl that does not answer is a
// warning: its pods are in the listing.
func heldPods(ctx context.Context, e *env, client *cri.Client, dir string) ([]*heldPod, error) {
	answers, err := askPodctls(ctx, e, dir)
	if err != nil {
		return nil, err
	}
	return heldBeside(ctx, e, client, dir, answers)
}

// heldBeside is heldPods with podctls that were asked before.
func heldBeside(ctx context.Context, e *env, client *cri.Client, dir string, answers func() []liveWorkers) ([]*heldPod, error) {
	listed, err := client.ListPods(ctx)
	live := answers()
	if err != nil {
		return nil, err
	}
	for _, l := range live {
		if l.err != nil {
			fmt.Fprintf(e.errw, "warning: %v\n", l.err)
		}
	}
	return mergePods(listed, live, aliveBut(dir, "")), nil
}

// mergePods makes one list of both, sorted by name. alive tells whether a
// living podctl answers for a pod that a podctl created, or may have, and none
// shows.
func mergePods(listed []*pod.Pod, live []liveWorkers, alive func(*heldPod) bool) []*heldPod {
	byUID := map[types.UID]*heldPod{}
	for _, p := range listed {
		h := &heldPod{uid: p.UID, namespace: p.Namespace, name: p.Name, pod: p}
		if len(p.Sandboxes) > 0 {
			h.creator = p.Sandboxes[0].Owner
		}
		byUID[p.UID] = h
	}
	for _, l := range live {
		for _, w := range l.workers {
			h := byUID[w.UID]
			if h == nil {
				h = &heldPod{uid: w.UID, namespace: w.Namespace, name: w.Name}
				byUID[w.UID] = h
			}
			if h.manager != nil && w.Rejected != "" {
				continue // the other one has it
			}
			h.manager, h.worker, h.alive = l.client, w, true
		}
	}
	all := make([]*heldPod, 0, len(byUID))
	for _, h := range byUID {
		// Who made a pod that has lost its sandbox is not known.
		if h.manager == nil && (h.creator != "" || len(h.pod.Sandboxes) == 0) {
			h.alive = alive(h)
		}
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b *heldPod) int {
		return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name), strings.Compare(string(a.uid), string(b.uid)))
	})
	return all
}

func (h *heldPod) displayName() string { return pod.DisplayName(h.namespace, h.name) }

// managed tells whether a living podctl shows the pod and did not reject it.
func (h *heldPod) managed() bool { return h.manager != nil && h.worker.Rejected == "" }

// abandoned tells whether the pod's podctl has died, and no other one has it.
func (h *heldPod) abandoned() bool { return h.pod != nil && h.creator != "" && !h.alive }

// kind says who the pod belongs to: podctl, kubelet or other. A pod that has
// the kubelet's labels and is not podctl's is taken for the kubelet's.
func (h *heldPod) kind() string {
	switch {
	case h.creator != "" || h.managed() || h.pod == nil:
		return "podctl"
	case h.pod != nil && h.pod.SandboxLabels()[pod.UIDLabel] != "":
		return "kubelet"
	}
	return "other"
}

// owner is the same for people, with the name of the podctl.
func (h *heldPod) owner() string {
	switch {
	case h.managed() || h.pod == nil:
		return h.manager.Instance()
	case h.abandoned():
		return h.creator + " (gone)"
	case h.creator != "":
		return h.creator
	}
	return h.kind()
}

// phase is the pod's phase as kubectl would show it. Of a pod that no podctl
// manages it is what the runtime's listing says: Exited is a pod of which
// nothing runs, whether it has succeeded or failed.
func (h *heldPod) phase() string {
	switch {
	case h.manager != nil && h.worker.Rejected != "":
		return "Rejected"
	case h.terminating() && h.worker.Status != "Succeeded" && h.worker.Status != "Failed":
		return "Terminating"
	case h.manager != nil:
		return string(h.worker.Status)
	case !h.pod.Running():
		return "Exited"
	case h.runningContainers() > 0:
		return "Running"
	}
	return "Pending"
}

// terminating tells whether the pod is on its way down. Of a pod that no podctl
// manages that is known only once its sandbox was stopped before all of its
// containers were.
func (h *heldPod) terminating() bool {
	if h.manager != nil {
		return h.worker.Terminating()
	}
	return !h.sandboxReady() && h.runningContainers() > 0
}

func (h *heldPod) sandboxReady() bool {
	for _, s := range h.pod.Sandboxes {
		if s.State == pod.Running {
			return true
		}
	}
	return false
}

func (h *heldPod) runningContainers() int {
	n := 0
	for _, c := range h.pod.Containers {
		if c.State == pod.Running {
			n++
		}
	}
	return n
}

// ready counts containers: of a pod that no podctl manages those that run, and
// all names that there are.
func (h *heldPod) ready() (ready, total int) {
	if h.manager != nil {
		return h.worker.Ready, h.worker.Containers
	}
	names := map[string]bool{}
	for _, c := range h.pod.Containers {
		names[c.Name] = true
	}
	return h.runningContainers(), len(names)
}

// restarts of a pod that no podctl manages are told from the attempts.
func (h *heldPod) restarts() int32 {
	if h.manager != nil {
		return h.worker.Restarts
	}
	latest := map[string]int32{}
	for _, c := range h.pod.Containers {
		latest[c.Name] = max(latest[c.Name], int32(c.Attempt))
	}
	n := int32(0)
	for _, attempt := range latest {
		n += attempt
	}
	return n
}

// began is when the pod began, zero if that is not known.
func (h *heldPod) began() time.Time {
	if !h.worker.StartTime.IsZero() || h.pod == nil {
		return h.worker.StartTime
	}
	var first time.Time
	for _, s := range h.pod.Sandboxes {
		if first.IsZero() || s.CreatedAt.Before(first) {
			first = s.CreatedAt
		}
	}
	return first
}

// ips are known of pods that a podctl manages, and of others whose status was
// read.
func (h *heldPod) ips() []string {
	if h.status != nil && len(h.worker.IPs) == 0 {
		return h.status.IPs
	}
	return h.worker.IPs
}
