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

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/pods/view"
)

// AgentName is the instance name of an agent: a later agent adopts its pods.
const AgentName = "agent"

// Facts are all that Classify depends on.
type Facts struct {
	// Answers are those of all possible owners.
	Answers *owners.Answers
	// Pods are those that the runtime holds or a live podctl process names.
	Pods []*view.Pod
	// Dirs are the pod directories. DirsUnknown is why orphans among them cannot be
	// determined, "" if they can.
	Dirs        []Dir
	DirsUnknown string
	// Leaks are what sandboxes left that the runtime does not list.
	Leaks leak.Findings
}

// Findings are the pods of a runtime that no source desires.
type Findings struct {
	Orphans []Orphan
	// Terminating are pods that the kubelet is terminating, and Undetermined those of
	// which it is not known whether a kubelet desires them, or a podctl process that may
	// not be visible.
	Terminating, Undetermined []*view.Pod
}

// Classify finds the orphans: the pods of nobody, and the directories without a pod, each
// once, and what has leaked. Pods of a live podctl process are left to it, also if it does
// not answer. Pods come first, by name; then directories; then leaks. Pure.
func Classify(f Facts) Findings {
	known := uidsOf(f.Pods)
	var found Findings
	for _, p := range f.Pods {
		if p.Runtime == nil {
			continue
		}
		switch p.Verdict.Relation {
		case owners.None:
			found.Orphans = append(found.Orphans, orphanedPod(p, f.Answers))
		case owners.Terminates:
			found.Terminating = append(found.Terminating, p)
		case owners.Unknown:
			if p.Verdict.Process.Name == "" {
				found.Undetermined = append(found.Undetermined, p)
			}
		case owners.Desires, owners.Manages:
		}
	}
	slices.SortStableFunc(found.Orphans, func(a, b Orphan) int {
		return cmp.Or(strings.Compare(a.Title(), b.Title()), strings.Compare(string(a.UID), string(b.UID)))
	})
	for _, d := range f.Dirs {
		if f.DirsUnknown != "" || known[d.UID] || d.Keep != "" || f.Answers.Desired(d.UID, pod.FullName(d.Name, d.Namespace)) != "" {
			continue
		}
		found.Orphans = append(found.Orphans, orphanedDir(d, f.Answers.Exited))
	}
	for _, l := range f.Leaks.Leaks {
		if i := slices.IndexFunc(f.Dirs, func(d Dir) bool { return d.UID == l.Pod.UID && d.Keep == "" }); i >= 0 && l.Pod.Name == "" {
			l.Pod.Namespace, l.Pod.Name = f.Dirs[i].Namespace, f.Dirs[i].Name
		}
		found.Orphans = append(found.Orphans, leaked(l))
	}
	return found
}

// uidsOf are the UIDs of the pods, and those that bare pods were given.
func uidsOf(pods []*view.Pod) map[types.UID]bool {
	var listed []*pod.Pod
	uids := map[types.UID]bool{}
	for _, p := range pods {
		uids[p.UID] = true
		if p.Runtime != nil {
			listed = append(listed, p.Runtime)
		}
	}
	maps.Copy(uids, pod.UIDs(listed))
	return uids
}

// WhyUnknown returns the errors that name why it is not known whether pods are desired.
func WhyUnknown(undetermined []*view.Pod) error {
	var errs []error
	seen := map[string]bool{}
	for _, p := range undetermined {
		if why := p.Verdict.Why; !seen[why.Error()] {
			seen[why.Error()] = true
			errs = append(errs, why)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func orphanedPod(p *view.Pod, answers *owners.Answers) Orphan {
	o := Orphan{Pod: p, OwnerExited: answers.Exited[p.Creator].At}
	rivalSource, rival, reserved := answers.Rival(p.UID, p.FullName())
	switch {
	case reserved:
		o.Class, o.Why = NameReserved, fmt.Sprintf("%s desires another pod of its name, %s", rivalSource, rival)
	case len(p.Runtime.Sandboxes) == 0:
		o.Class, o.Why = NoSandbox, "no source desires it, and its sandbox is gone"
	case !p.Runtime.MayBeRunning():
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
		Pod:   &view.Pod{Metadata: view.Metadata{UID: d.UID, Namespace: d.Namespace, Name: d.Name}, Creator: d.Instance},
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
