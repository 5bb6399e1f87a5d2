package view

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
)

// OwnerKind is the kind of program that a pod belongs to.
type OwnerKind string

// The kinds.
const (
	KindPodctl  OwnerKind = "podctl"
	KindKubelet OwnerKind = "kubelet"
	KindOther   OwnerKind = "other"
)

// Ownership is who starts and terminates a pod, and whether that one is at work.
type Ownership uint8

// The ownerships.
const (
	OwnedByOther     Ownership = iota // another client of the runtime, or it is not known who
	OwnedByPodctl                     // a live podctl process that answers
	OwnedBySilent                     // a podctl process that does not answer, or may be alive and is not visible
	OwnedBySuspended                  // a podctl process that a signal has suspended
	OwnedByExited                     // a podctl process that has exited
	OwnedByKubelet
)

// IsPodctl reports whether the owner is, or was, a podctl process.
func (o Ownership) IsPodctl() bool { return o != OwnedByOther && o != OwnedByKubelet }

// Ownership returns who starts and terminates the pod.
func (p *Pod) Ownership() Ownership {
	switch {
	case p.Manager != nil:
		return OwnedByPodctl
	case p.Abandoned():
		return OwnedByExited
	case p.Kind() == KindKubelet:
		return OwnedByKubelet
	case p.Kind() != KindPodctl:
		return OwnedByOther
	case p.Verdict.Process.Stopped:
		return OwnedBySuspended
	}
	return OwnedBySilent
}

// DisplayName returns NAMESPACE/NAME.
func (p *Pod) DisplayName() string { return pod.DisplayName(p.Namespace, p.Name) }

// FullName returns the name that only one pod of a runtime may have at a time.
func (p *Pod) FullName() string { return pod.FullName(p.Name, p.Namespace) }

// Managed reports whether a live podctl process has admitted the pod.
func (p *Pod) Managed() bool { return p.Manager != nil && p.Worker.Rejected == "" }

// Abandoned reports whether podctl created the pod, and no live podctl process has to do
// with it, nor may one that is not visible.
func (p *Pod) Abandoned() bool {
	return p.Runtime != nil && p.Creator != "" && p.Verdict.Kind != owners.ByPodctl
}

// Kind returns the kind of owner. A pod that podctl did not create and that has a kubelet's
// annotation or labels is a kubelet's; so is one that a kubelet names and the runtime does not
// list.
func (p *Pod) Kind() OwnerKind {
	switch {
	case p.Runtime == nil && p.Manager == nil && p.Verdict.Kind == owners.ByKubelet:
		return KindKubelet
	case p.Runtime == nil && p.Manager == nil:
		return KindOther
	case p.Creator != "" || p.Managed() || p.Runtime == nil:
		return KindPodctl
	case p.madeByKubelet():
		return KindKubelet
	}
	return KindOther
}

// madeByKubelet reports whether the newest sandbox has the annotation that kubelets
// give every pod, or their labels.
func (p *Pod) madeByKubelet() bool {
	if len(p.Runtime.Sandboxes) == 0 {
		return p.SandboxLabels()[pod.UIDLabel] != ""
	}
	return p.Runtime.MadeByKubelet()
}

// GivenUID is the UID that the pod's creator gave it, by which a kubelet names its pods.
func (p *Pod) GivenUID() types.UID {
	if p.Runtime != nil && p.Runtime.SharedUID != "" {
		return p.Runtime.SharedUID
	}
	return p.UID
}

// DistinctUID is that of the runtime's listing: see pod.Pod.
func (p *Pod) DistinctUID() types.UID {
	if p.Runtime == nil {
		return p.UID
	}
	return p.Runtime.DistinctUID()
}

// Instance returns the podctl instance that manages the pod, or alone reports it, else the one that created it; ""
// if none did.
func (p *Pod) Instance() string {
	if p.Manager != nil && (p.Managed() || p.Runtime == nil) {
		return p.Manager.Name
	}
	return p.Creator
}

// OwnerName returns the pod's instance, else the kind of owner.
func (p *Pod) OwnerName() string {
	if p.Kind() == KindPodctl {
		return p.Instance()
	}
	return string(p.Kind())
}

// SandboxLabels returns the labels of the newest sandbox.
func (p *Pod) SandboxLabels() map[string]string { return p.Runtime.SandboxLabels() }

// SandboxID returns the id of the newest sandbox, "" if there is none.
func (p *Pod) SandboxID() string { return p.NewestSandbox().ID }
