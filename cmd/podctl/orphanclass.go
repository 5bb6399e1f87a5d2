package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/pod"
)

// orphanClass says how a pod came to be nobody's.
type orphanClass string

// A pod is of the first of these classes that fits.
const (
	// classNameReserved: a desired pod of another UID wants its full name.
	classNameReserved orphanClass = "name-reserved"
	// classNoSandbox: containers whose sandbox is gone.
	classNoSandbox orphanClass = "no-sandbox"
	// classNotReady: dead sandboxes, and nothing runs in them.
	classNotReady orphanClass = "not-ready"
	// classAbandoned: its podctl has died, or left it on purpose.
	classAbandoned orphanClass = "abandoned"
	// classRuntimeOnly: the runtime alone knows it.
	classRuntimeOnly orphanClass = "runtime-only"
	// classDirectory: a pod directory, and no pod.
	classDirectory orphanClass = "directory"
)

// orphan is a pod, or a pod's directory, that nobody wants.
type orphan struct {
	// heldPod is the pod; of a directory it has what the directory tells.
	*heldPod
	class orphanClass
	why   string
	// ended is when its podctl died, zero if that is not known.
	ended time.Time
	// dir is the directory of a classDirectory, else nil.
	dir *podDir
}

// podDir is a directory below --root that is named for a pod.
type podDir struct {
	uid  types.UID
	path string
	// namespace and name are the pod's where something tells them.
	namespace, name string
	// instance is the podctl that wrote the record in it, "" if none did.
	instance string
	changed  time.Time
	// mounts are the mount points at or below it.
	mounts []string
	// keep is why it is in use though this runtime does not hold its pod, "" if
	// it is not.
	keep string
}

// orphanFacts are all that a classification goes by.
type orphanFacts struct {
	// answers say what is desired.
	answers []desired.Answer
	// held is what the runtime holds and what the living podctls say.
	held []*heldPod
	// dirs are the pod directories. dirsUnknown is why it cannot be told which of
	// them are orphans, "" if it can.
	dirs        []podDir
	dirsUnknown string
	// ended says when podctls died, as far as known.
	ended map[string]time.Time
}

// orphans names what nobody wants: never a pod that is desired, nor one of a
// living podctl, and everything once. Pods first, by name; then directories.
// Pure.
func orphans(f orphanFacts) []orphan {
	w := wanted(f.answers)
	known := map[types.UID]bool{}
	var found []orphan
	for _, h := range f.held {
		known[h.uid] = true
		if o, is := orphanPod(h, w, f.ended); is {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b orphan) int {
		return cmp.Or(strings.Compare(a.displayName(), b.displayName()), strings.Compare(string(a.uid), string(b.uid)))
	})
	if f.dirsUnknown != "" {
		return found
	}
	for _, d := range f.dirs {
		if known[d.uid] || d.keep != "" || w.by(d.uid, pod.FullName(d.name, d.namespace), true) != "" {
			continue
		}
		found = append(found, orphanDir(d, f.ended))
	}
	return found
}

// orphanPod judges one pod.
func orphanPod(h *heldPod, w wantedPods, ended map[string]time.Time) (orphan, bool) {
	if h.pod == nil || h.manager != nil || h.alive || w.by(h.uid, h.pod.FullName(), h.creator != "") != "" {
		return orphan{}, false
	}
	o := orphan{heldPod: h, ended: ended[h.creator]}
	rival, reserved := w.rival(h.uid, h.pod.FullName())
	switch {
	case reserved:
		o.class, o.why = classNameReserved, fmt.Sprintf("%s wants its name for another pod, %s", rival.who, rival.uid)
	case len(h.pod.Sandboxes) == 0:
		o.class, o.why = classNoSandbox, "no desired state names it, and its sandbox is gone"
	case !h.pod.Running():
		o.class, o.why = classNotReady, "no desired state names it, and nothing of it runs"
	case h.creator != "":
		o.class, o.why = classAbandoned, abandonedWhy(h.creator, o.ended)
	default:
		o.class, o.why = classRuntimeOnly, "no desired state names it"
	}
	return o, true
}

func abandonedWhy(creator string, ended time.Time) string {
	switch {
	case creator == agentName:
		return "its agent is gone: one that starts again adopts it"
	case !ended.IsZero():
		return "its podctl was killed"
	}
	return "its podctl is gone: killed, or run --keep left it on purpose"
}

func orphanDir(d podDir, ended map[string]time.Time) orphan {
	o := orphan{
		heldPod: &heldPod{uid: d.uid, namespace: d.namespace, name: d.name, creator: d.instance},
		class:   classDirectory, why: "the runtime holds no pod of it", ended: ended[d.instance], dir: &d,
	}
	if len(d.mounts) > 0 {
		var below []string
		for _, m := range d.mounts {
			below = append(below, strings.TrimPrefix(strings.TrimPrefix(m, d.path), "/"))
		}
		o.why += "; mounted in it: " + strings.Join(below, ", ")
	}
	return o
}

// displayName is NAMESPACE/NAME; of a directory of which nobody knows the pod
// it is the UID.
func (o orphan) displayName() string {
	if o.name == "" {
		return string(o.uid)
	}
	return o.heldPod.displayName()
}

// running tells whether anything of it has to be ended.
func (o orphan) running() bool { return o.pod != nil && o.pod.Running() }

// ownerText is "run-5f2a, ended 3d ago".
func (o orphan) ownerText(now time.Time) string {
	switch {
	case o.creator == "":
		return "unknown"
	case !o.ended.IsZero():
		return fmt.Sprintf("%s, ended %s ago", o.creator, output.Age(now.Sub(o.ended)))
	}
	return o.creator + ", ended"
}
