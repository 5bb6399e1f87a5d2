package node

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// found says what a runtime pod that no worker knows yet is to us.
type found struct {
	// adopt holds the pods that are desired as they are.
	adopt []*pod.Pod
	// end holds podctl's pods that have to go: an older manifest of a
	// desired pod's name, or a pod of this very instance that nobody desires.
	end []*pod.Pod
	// unwanted are, of those, the ones whose name nobody wants either.
	unwanted map[types.UID]bool
	// foreign holds, by UID of the desired pod whose UID or name it has, a
	// running pod that podctl did not create and therefore leaves alone.
	foreign map[types.UID]*pod.Pod
	// others are the pods that have to go and that another podctl manages.
	others map[types.UID]error
	// unread and unreadNames are the pods, by UID and full name, of which it
	// could not be learnt now what they are.
	unread      map[types.UID]bool
	unreadNames map[string]bool
}

// postpone takes note that it could not be learnt now what the pod is.
func (f *found) postpone(p *pod.Pod) {
	f.unread[p.UID], f.unreadNames[p.FullName()] = true, true
}

// sortOut looks at what the runtime holds before anything is created. Only
// podctl's own pods, by their owner annotation, are adopted or ended, and of
// those only the ones of this instance or of a name that it wants. Pure.
func sortOut(held []*pod.Pod, known func(types.UID) bool, want map[types.UID]Desired, instance string) found {
	byName := map[string]types.UID{}
	for uid, d := range want {
		byName[pod.FullNameOf(d.Pod)] = uid
	}
	f := found{
		unwanted: map[types.UID]bool{},
		foreign:  map[types.UID]*pod.Pod{}, others: map[types.UID]error{},
		unread: map[types.UID]bool{}, unreadNames: map[string]bool{},
	}
	for _, p := range held {
		if known(p.UID) {
			continue
		}
		owner := ownerOf(p)
		_, same := want[p.UID]
		rival, nameWanted := byName[p.FullName()]
		switch {
		case owner == "" && p.Running():
			if same {
				f.foreign[p.UID] = p
			}
			if nameWanted {
				f.foreign[rival] = p
			}
		case owner == "":
		case same:
			f.adopt = append(f.adopt, p)
		case nameWanted || owner == instance:
			f.end = append(f.end, p)
			f.unwanted[p.UID] = !nameWanted
		}
	}
	return f
}

// ownerOf is the instance that created the pod's newest sandbox, "" where
// podctl did not.
func ownerOf(p *pod.Pod) string {
	if len(p.Sandboxes) == 0 {
		return ""
	}
	return p.Sandboxes[0].Owner
}

// ForeignPodError says that the runtime already runs a pod of a desired
// pod's name which is not podctl's.
type ForeignPodError struct{ Pod *pod.Pod }

func (e *ForeignPodError) Error() string {
	return fmt.Sprintf("the runtime already runs a pod %s that podctl did not create (uid %s)",
		pod.DisplayName(e.Pod.Namespace, e.Pod.Name), e.Pod.UID)
}

// Hint tells the way out.
func (e *ForeignPodError) Hint() string {
	id := ""
	if len(e.Pod.Sandboxes) > 0 {
		id = " " + e.Pod.Sandboxes[0].ID
	}
	return "rename the pod in the manifest, or end the other one: crictl rmp -f" + id
}

// adoption tells what becomes of a pod that has the record.
func adoption(r podrecord.Record) string {
	switch {
	case r.Held:
		return "the pod was stopped: it stays so until its manifest changes, or podctl start"
	case !r.StopRequested.IsZero():
		return "the pod was being stopped: it stops, and then starts again"
	case r.Phase != "":
		return "the pod has ended before: it does not run again"
	}
	return "the runtime already holds the pod: it continues"
}
