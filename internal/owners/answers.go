package owners

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
)

// Process is a live podctl process, as a value.
type Process struct {
	// Process has its name and id, and its control socket, "" if it has none.
	control.Process
	// PID is 0 where it is not known: it is looked up only of one that does not answer.
	PID int
	// Dir is its directory of locks and sockets.
	Dir string
	// Elsewhere: its locks are not in the directory of this runtime. It uses the runtime
	// by another endpoint, or has another run directory.
	Elsewhere bool
	// Endpoint is the endpoint by which it uses its runtime, "" if that is not known.
	Endpoint string
	// Stopped: the process is suspended, by SIGSTOP for example.
	Stopped bool
	// Settled: it has read its sources and adopted its pods, so that Workers are all.
	Settled bool
	// Workers are its pods. Err is why it did not answer.
	Workers map[types.UID]control.Worker
	Err     error

	runtime owner.Runtime
}

// is reports whether the process is the one that a lock or an annotation names.
func (p *Process) is(name, id string) bool {
	return owner.Holder{Name: p.Name, ID: p.ID}.Is(name, id)
}

// SourceKind is the kind of a source of desired pods.
type SourceKind uint8

// The kinds.
const (
	FromFile SourceKind = iota
	FromStatic
	FromCluster
)

// Source is a source of desired pods, beside podctl processes and the kubelet, and its
// answer.
type Source struct {
	sources.Answer
	Kind SourceKind
	// Named: the user named it, rather than that it was found.
	Named bool
}

// Kubelet is what is known of the kubelet of the runtime.
type Kubelet struct {
	// Answer is its own, empty where it was not asked.
	kubelet.Answer
	// Asked: it was asked. Named: the user named its address.
	Asked, Named bool
	// Process is the kubelet that uses the runtime, nil if none is seen; FindErr is why it
	// is not known whether one does.
	Process *kubelet.Process
	FindErr error
	// Unsettled is why the pods that it desires are not all known, nil if they are: its
	// answer is complete, or all of its sources answered. It is a *kubelet.AbsentError if
	// none uses the runtime.
	Unsettled error
	// Gone: the user says that it is never started again.
	Gone bool
	// HasDir are the listed pods of which it has the directory: it removes that last.
	HasDir map[types.UID]bool
}

// Answers are what all possible owners of the pods of a runtime say, at one time. The
// zero value is a runtime without owners.
type Answers struct {
	// Processes are the live podctl processes that may use the runtime, those of its
	// directory first, each kind by name.
	Processes []Process
	// Others are those that are known to use another runtime. They may share directories
	// of pods with this one.
	Others []Process
	// Sources are manifests, static pods and the cluster that were asked.
	Sources []Source
	Kubelet Kubelet
	// Unseen is why podctl processes may not be visible that own pods, nil if all are.
	Unseen error
	// Unread is why not all processes that are visible were asked, nil if they were: a
	// *owner.LocksError, or a directory that podctl must not read.
	Unread error
	// Exited are the deaths of instances that were killed, by name, as far as known.
	Exited map[string]owner.Exit

	// names are the processes that hold the names of listed pods, by full name.
	names map[string]nameHolder
	index sourceIndex
}

// nameHolder is a process that holds a full name. silent: its locks are elsewhere, and
// it does not say which pods it owns.
type nameHolder struct {
	Process
	silent bool
}

// ErrNotAsked: no owner was asked.
var ErrNotAsked = errors.New("its owners were not asked")

// NotAsked returns Answers for which no owner was asked: each pod that may have an owner is
// Unknown.
func NotAsked() *Answers {
	return &Answers{Unseen: ErrNotAsked, Kubelet: Kubelet{FindErr: ErrNotAsked, Unsettled: ErrNotAsked}}
}

// Desired returns the source that desires the pod of a directory, by its UID or its name,
// "" if none does.
func (a *Answers) Desired(uid types.UID, fullName string) string {
	source, _ := a.sources().by(uid, fullName, CreatedByPodctl)
	return source
}

// Rival returns the source that desires a pod of another UID by the full name, and that
// UID; ok is false if none does.
func (a *Answers) Rival(uid types.UID, fullName string) (source string, other types.UID, ok bool) {
	r, ok := a.sources().rival(uid, fullName)
	return r.source, r.uid, ok
}

// sources indexes the answers when that is needed first.
func (a *Answers) sources() sourceIndex {
	if a.index.byUID == nil {
		a.index = indexSources(a)
	}
	return a.index
}

// Judge returns whose the pod is. Pure: it depends on the answers alone.
func (a *Answers) Judge(p *pod.Pod) Verdict {
	e, parties := a.evidence(p)
	r := decide(e)
	v := Verdict{Relation: r.relation, Kind: r.by}
	switch r.by {
	case ByPodctl:
		v.Process = parties.process
	case BySource:
		v.Source = parties.source
	case ByKubelet:
		v.Source = a.Kubelet.Source
	case Nobody:
	}
	if r.relation == Unknown {
		v.Why = a.why(r.by, parties)
	}
	return v
}

// Object returns the pod as the kubelet shows it, nil if it does not name it.
func (k *Kubelet) Object(uid types.UID) *v1.Pod {
	if i := slices.IndexFunc(k.Pods, func(p *v1.Pod) bool { return p.UID == uid }); i >= 0 {
		return k.Pods[i]
	}
	return nil
}
