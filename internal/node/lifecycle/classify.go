package lifecycle

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Findings classifies the runtime's pods that no entry accounts for.
type Findings struct {
	// Adopt holds the pods that are desired, by their UID.
	Adopt []*pod.Pod
	// Stop holds podctl's pods that have to go: an older manifest of a desired
	// pod's name, a pod of this very instance that is not desired, or a surplus pod of
	// a workload of which there are desired pods.
	Stop []*pod.Pod
	// NotDesired has the pods of Stop whose name is not desired either.
	NotDesired map[types.UID]bool
	// Foreign holds, by UID of the desired pod whose UID or name it has and that is not
	// adopted, a running pod that podctl did not create and therefore leaves alone.
	Foreign map[types.UID]*pod.Pod
	// ManagedByOther and NamesManagedByOther have the errors of pods that another podctl process
	// manages, by UID and full name: they are neither adopted nor stopped.
	ManagedByOther      map[types.UID]error
	NamesManagedByOther map[string]error
	// Unread and UnreadNames are the pods, by UID and full name, that could not be
	// read now.
	Unread      map[types.UID]bool
	UnreadNames map[string]bool
}

// Classify classifies the pods that the runtime has before anything is created. Only
// podctl's own pods, by their owner annotation, are adopted or stopped, and of
// those only the ones of this instance, or of a name or a workload that it desires. known
// reports which pods are accounted for.
func Classify(held []*pod.Pod, known func(types.UID) bool, desired map[types.UID]Desired, instance string) Findings {
	f := Findings{
		NotDesired: map[types.UID]bool{},
		Foreign:    map[types.UID]*pod.Pod{}, ManagedByOther: map[types.UID]error{}, NamesManagedByOther: map[string]error{},
		Unread: map[types.UID]bool{}, UnreadNames: map[string]bool{},
	}
	unknown := slices.DeleteFunc(slices.Clone(held), func(p *pod.Pod) bool { return known(p.UID) })
	if len(unknown) == 0 {
		return f
	}
	byName, workloads := map[string]types.UID{}, map[string]bool{"": false}
	for uid, d := range desired {
		byName[d.FullName()] = uid
		workloads[d.Workload] = d.Workload != ""
	}
	for _, p := range unknown {
		owner := OwnerOf(p)
		_, same := desired[p.UID]
		rival, nameDesired := byName[p.FullName()]
		switch {
		case owner == "" && p.Running():
			if uid := foreignUID(p); desired[uid].Pod != nil {
				f.Foreign[uid] = p
			}
			if nameDesired {
				f.Foreign[rival] = p
			}
		case owner == "":
		case same:
			f.Adopt = append(f.Adopt, p)
		case nameDesired || owner == instance || workloads[p.Sandboxes[0].Workload]:
			f.Stop = append(f.Stop, p)
			f.NotDesired[p.UID] = !nameDesired
		}
	}
	for _, p := range f.Adopt {
		delete(f.Foreign, p.UID) // the foreign pod came later
	}
	return f
}

// foreignUID returns the UID by which a foreign pod keeps a desired pod waiting: the given UID of a
// kubelet's pod, because that kubelet would take a sandbox of the desired pod for its own. The given
// UID of a bare pod does not count, because it may come from a copied file.
func foreignUID(p *pod.Pod) types.UID {
	if len(p.Sandboxes) > 0 && !p.MadeByKubelet() {
		return p.UID
	}
	return p.GivenUID()
}

// OwnerOf returns the instance that created the pod's newest sandbox, "" if
// podctl did not.
func OwnerOf(p *pod.Pod) string {
	if len(p.Sandboxes) == 0 {
		return ""
	}
	return p.Sandboxes[0].Owner
}

// MarkManagedByOther records that another podctl process manages the pod.
func (f *Findings) MarkManagedByOther(p *pod.Pod, why error) {
	f.ManagedByOther[p.UID], f.NamesManagedByOther[p.FullName()] = why, why
}

// MarkUnread records that the pod could not be read now.
func (f *Findings) MarkUnread(p *pod.Pod) {
	f.Unread[p.UID], f.UnreadNames[p.FullName()] = true, true
}

// UnknownPods returns the running pods that no worker knows and this podctl does not
// desire: those that podctl did not create, and those of other instances. A
// kubelet stops them (HandlePodCleanups in pkg/kubelet/kubelet_pods.go). Those
// that a kubelet created are not among them: it may be stopped, or not visible. Nor are
// containers without a sandbox, which do not show what created them.
func UnknownPods(held []*pod.Pod, known func(types.UID) bool, desired map[types.UID]Desired, instance string) []*pod.Pod {
	var found []*pod.Pod
	for _, p := range held {
		_, same := desired[p.UID]
		owner := OwnerOf(p)
		unclear := len(p.Sandboxes) == 0
		if !p.Running() || known(p.UID) || owner == instance || same && owner != "" || unclear || p.MadeByKubelet() {
			continue
		}
		found = append(found, p)
	}
	return found
}

// StopUnknown adds unknown pods to those that are stopped. A desired pod whose
// name one of them has waits for its end.
func (f *Findings) StopUnknown(pods []*pod.Pod) {
	in := map[types.UID]bool{}
	for _, p := range f.Stop {
		in[p.UID] = true
	}
	for _, p := range pods {
		if !in[p.UID] {
			f.Stop = append(f.Stop, p)
		}
		for rival, other := range f.Foreign {
			if other.UID == p.UID {
				delete(f.Foreign, rival)
				f.Unread[rival] = true // until it is gone
			}
		}
	}
}

// DeferReason returns the event by which the pod waits because of the findings; ok is false if it
// may start.
func (f *Findings) DeferReason(d Desired) (reason Defer, ok bool) {
	uid := d.UID()
	if p, found := f.Foreign[uid]; found {
		return Defer{ForeignPod, foreignPodError(p)}, true
	}
	if err, found := f.ManagedByOther[uid]; found {
		return Defer{NameHeld, err}, true
	}
	if err, found := f.NamesManagedByOther[d.FullName()]; found {
		return Defer{NameHeld, err}, true
	}
	if f.Unread[uid] || f.UnreadNames[d.FullName()] {
		return Defer{PredecessorUnknown, nil}, true
	}
	return Defer{}, false
}

// DecideStart returns the StartMode of a pod that may start. The record may be all that is left of a
// pod that had ended or was being stopped when its podctl died.
func DecideStart(adopt bool, rec poddir.Record) StartMode {
	switch {
	case !adopt && !rec.Stopped():
		return New
	case rec.StopRequested.IsZero():
		return Resume
	case rec.StayStopped:
		return StayStopped
	}
	return StopThenRestart
}

// foreignPodError says that the runtime already runs a pod of a desired pod's name or UID
// that podctl did not create.
func foreignPodError(p *pod.Pod) error {
	id := ""
	if len(p.Sandboxes) > 0 {
		id = " " + p.Sandboxes[0].ID
	}
	return hint.Errorf("rename the pod in the manifest, or remove the other one: crictl rmp -f"+id,
		"the runtime already runs a pod %s that podctl did not create (uid %s)", pod.DisplayName(p.Namespace, p.Name), p.UID)
}
