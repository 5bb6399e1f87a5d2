package orphan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
)

// AgentName is the instance name of an agent: a later agent adopts its pods.
const AgentName = "agent"

// Facts are all that Classify depends on.
type Facts struct {
	// Answers are the desired pods, by source.
	Answers []desired.Answer
	// Pods are those that the runtime holds or a live podctl process names.
	Pods []*inventory.Pod
	// Kubelet is what is known of the kubelet of this runtime.
	Kubelet KubeletState
	// OwnersUnseen is why podctl processes may not be visible that own pods, nil if all are.
	OwnersUnseen error
	// Dirs are the pod directories. DirsUnknown is why orphans among them cannot be
	// determined, "" if they can.
	Dirs        []Dir
	DirsUnknown string
	// Exited is when podctl processes were killed, by instance, as far as known.
	Exited map[string]owner.Exit
}

// KubeletState is what is known of the kubelet of a runtime. The zero value is a
// kubelet that is not connected, and whose sources answered completely.
type KubeletState struct {
	// PID is its process, 0 if none is connected.
	PID int
	// Unsettled is why its desired pods are not known, nil if Answers has them all.
	Unsettled error
	// Answered: Answers has its own answer, which names its pods by UID.
	Answered bool
	// Gone: the user says that it does not exist any more.
	Gone bool
	// HasDir are the pods of which it has the directory: it removes that in the end.
	HasDir map[types.UID]bool
}

// Findings are the pods of a runtime that no source desires.
type Findings struct {
	Orphans []Orphan
	// Terminating are pods that the kubelet is terminating, and Undetermined those
	// that a kubelet or podctl created of which it is not known whether it desires them.
	Terminating, Undetermined []*inventory.Pod
}

// Classify finds the orphans: never a pod that a source desires, nor one of a
// live podctl process or kubelet, and each one once. Pods come first, by name;
// then directories. Pure.
func Classify(f Facts) Findings {
	w := wanted(f.Answers)
	known := uidsOf(f.Pods)
	managed := map[types.UID]bool{} // by live podctl processes
	for _, p := range f.Pods {
		managed[p.UID] = p.Manager != nil
	}
	var found Findings
	for _, p := range f.Pods {
		if p.Runtime == nil || p.Manager != nil || p.Alive || managed[p.Runtime.SharedUID] {
			continue
		}
		if w.by(p.UID, p.FullName(), p.Creator != "") != "" || w.byUID[p.Runtime.SharedUID] != "" {
			// An earlier pod of a static pod's name is not the one that is desired.
			if w.byUID[p.GivenUID()] == "" && f.Kubelet.Answered && f.Kubelet.claim(p) == terminatesPod {
				found.Terminating = append(found.Terminating, p)
			}
			continue
		}
		switch f.claim(p) {
		case notItsPod:
			found.Orphans = append(found.Orphans, orphanedPod(p, w, f.Exited))
		case terminatesPod:
			found.Terminating = append(found.Terminating, p)
		case mayDesirePod:
			found.Undetermined = append(found.Undetermined, p)
		}
	}
	slices.SortStableFunc(found.Orphans, func(a, b Orphan) int {
		return cmp.Or(strings.Compare(a.Title(), b.Title()), strings.Compare(string(a.UID), string(b.UID)))
	})
	if f.DirsUnknown != "" {
		return found
	}
	for _, d := range f.Dirs {
		if known[d.UID] || d.Keep != "" || w.by(d.UID, pod.FullName(d.Name, d.Namespace), true) != "" {
			continue
		}
		found.Orphans = append(found.Orphans, orphanedDir(d, f.Exited))
	}
	return found
}

// uidsOf are the UIDs of the pods, and those that bare pods were given.
func uidsOf(pods []*inventory.Pod) map[types.UID]bool {
	var held []*pod.Pod
	uids := map[types.UID]bool{}
	for _, p := range pods {
		uids[p.UID] = true
		if p.Runtime != nil {
			held = append(held, p.Runtime)
		}
	}
	maps.Copy(uids, pod.UIDs(held))
	return uids
}

// claim is the relation of a kubelet, or of a podctl process that may not be visible, to a
// pod that none of the sources desires.
func (f Facts) claim(p *inventory.Pod) claim {
	if f.ownerUnseen(p) != nil {
		return mayDesirePod
	}
	return f.Kubelet.claim(p)
}

// ownerUnseen is why the podctl process that created the pod may live, nil if podctl did
// not create it, or that very process was killed: then its lock was found.
func (f Facts) ownerUnseen(p *inventory.Pod) error {
	if p.Creator == "" || p.CreatorID != "" && f.Exited[p.Creator].ID == p.CreatorID {
		return nil
	}
	return f.OwnersUnseen
}

// Unknown returns the errors that name why it is not known whether pods are desired.
func (f Facts) Unknown(undetermined []*inventory.Pod) error {
	var unseen, unsettled error
	for _, p := range undetermined {
		if err := f.ownerUnseen(p); err != nil {
			unseen = err
		} else {
			unsettled = f.Kubelet.Unsettled
		}
	}
	switch {
	case unseen == nil:
		return unsettled
	case unsettled == nil:
		return unseen
	}
	return errors.Join(unsettled, unseen)
}

// claim is an owner's relation to a pod that none of the sources desires.
type claim uint8

const (
	// notItsPod: it did not create the pod, or has abandoned it.
	notItsPod claim = iota
	// terminatesPod: it has not finished the pod's termination.
	terminatesPod
	// mayDesirePod: what it desires is not known.
	mayDesirePod
)

// claim judges a pod that the kubelet's sources do not desire. A live kubelet
// terminates a running pod that it does not know within two seconds
// (HandlePodCleanups in pkg/kubelet/kubelet_pods.go): one that runs on is being
// terminated, for as long as its grace period lasts.
func (k KubeletState) claim(p *inventory.Pod) claim {
	// Containers without a sandbox do not show what created them.
	unclear := len(p.Runtime.Sandboxes) == 0
	switch {
	case k.Gone, p.Kind() != inventory.KindKubelet && !unclear, unclear && isAbsent(k.Unsettled):
		return notItsPod
	case k.Unsettled != nil:
		return mayDesirePod
	case k.PID != 0 && (p.Runtime.Running() || k.HasDir[p.UID]):
		return terminatesPod
	}
	return notItsPod
}

// isAbsent reports whether no kubelet uses the runtime, and none was named.
func isAbsent(err error) bool {
	_, absent := errors.AsType[*kubelet.AbsentError](err)
	return absent
}

func orphanedPod(p *inventory.Pod, w wantedPods, exited map[string]owner.Exit) Orphan {
	o := Orphan{Pod: p, OwnerExited: exited[p.Creator].At}
	rival, reserved := w.rival(p.UID, p.FullName())
	switch {
	case reserved:
		o.Class, o.Why = NameReserved, fmt.Sprintf("%s desires another pod of its name, %s", rival.source, rival.uid)
	case len(p.Runtime.Sandboxes) == 0:
		o.Class, o.Why = NoSandbox, "no source desires it, and its sandbox is gone"
	case !p.Runtime.Running():
		o.Class, o.Why = NotReady, "no source desires it, and no container of it runs"
	case p.Creator != "":
		o.Class, o.Why = Abandoned, abandonedWhy(p.Creator, o.OwnerExited)
	default:
		o.Class, o.Why = RuntimeOnly, "no source desires it"
	}
	return o
}

func abandonedWhy(creator string, exited time.Time) string {
	switch {
	case creator == AgentName:
		return "its agent has exited: a new agent adopts it"
	case !exited.IsZero():
		return "its podctl process was killed"
	}
	return "its podctl process was killed, or run --keep left it running"
}

func orphanedDir(d Dir, exited map[string]owner.Exit) Orphan {
	o := Orphan{
		Pod:   &inventory.Pod{UID: d.UID, Namespace: d.Namespace, Name: d.Name, Creator: d.Instance},
		Class: Directory, Why: "the runtime has no pod of it", OwnerExited: exited[d.Instance].At, Dir: &d,
	}
	if len(d.Mounts) > 0 {
		var below []string
		for _, m := range d.Mounts {
			below = append(below, strings.TrimPrefix(strings.TrimPrefix(m, d.Path), "/"))
		}
		o.Why += "; mounts: " + strings.Join(below, ", ")
	}
	return o
}
