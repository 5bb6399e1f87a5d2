package orphan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/inventory"
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
	// Dirs are the pod directories. DirsUnknown is why orphans among them cannot be
	// determined, "" if they can.
	Dirs        []Dir
	DirsUnknown string
	// Exited is when podctl processes were killed, by instance, as far as known.
	Exited map[string]time.Time
}

// Classify returns the orphans: never a pod that a source desires, nor one of a
// live podctl process, and each one once. Pods come first, by name; then
// directories. Pure.
func Classify(f Facts) []Orphan {
	w := wanted(f.Answers)
	known := map[types.UID]bool{}
	var found []Orphan
	for _, p := range f.Pods {
		known[p.UID] = true
		if o, is := classifyPod(p, w, f.Exited); is {
			found = append(found, o)
		}
	}
	slices.SortStableFunc(found, func(a, b Orphan) int {
		return cmp.Or(strings.Compare(a.Title(), b.Title()), strings.Compare(string(a.UID), string(b.UID)))
	})
	if f.DirsUnknown != "" {
		return found
	}
	for _, d := range f.Dirs {
		if known[d.UID] || d.Keep != "" || w.by(d.UID, pod.FullName(d.Name, d.Namespace), true) != "" {
			continue
		}
		found = append(found, orphanedDir(d, f.Exited))
	}
	return found
}

func classifyPod(p *inventory.Pod, w wantedPods, exited map[string]time.Time) (Orphan, bool) {
	if p.Runtime == nil || p.Manager != nil || p.Alive || w.by(p.UID, p.FullName(), p.Creator != "") != "" {
		return Orphan{}, false
	}
	o := Orphan{Pod: p, OwnerExited: exited[p.Creator]}
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
	return o, true
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

func orphanedDir(d Dir, exited map[string]time.Time) Orphan {
	o := Orphan{
		Pod:   &inventory.Pod{UID: d.UID, Namespace: d.Namespace, Name: d.Name, Creator: d.Instance},
		Class: Directory, Why: "the runtime has no pod of it", OwnerExited: exited[d.Instance], Dir: &d,
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
