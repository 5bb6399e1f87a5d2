package owners

import "fmt"

// Relation is what the owner of a pod has to do with it.
type Relation uint8

const (
	// None: every possible owner was asked, answered completely, and has nothing to do
	// with the pod.
	None Relation = iota
	// Desires: a source names the pod, or a podctl process waits to run it.
	Desires
	// Manages: a live podctl process runs it, or holds its name.
	Manages
	// Terminates: its kubelet is terminating it.
	Terminates
	// Unknown: it may have an owner that was not seen, did not answer, or may not have
	// said all yet. Verdict.Why says which.
	Unknown
)

var relationNames = [...]string{None: "none", Desires: "desires", Manages: "manages", Terminates: "terminates", Unknown: "unknown"}

func (r Relation) String() string {
	if int(r) < len(relationNames) {
		return relationNames[r]
	}
	return fmt.Sprintf("Relation(%d)", uint8(r))
}

// OwnerKind is the kind of an owner.
type OwnerKind uint8

const (
	// Nobody: there is no owner, or it is not known who it is.
	Nobody OwnerKind = iota
	// ByPodctl: a podctl process.
	ByPodctl
	// ByKubelet: the kubelet that uses the runtime, or used it.
	ByKubelet
	// BySource: manifests, static pods, or a cluster.
	BySource
)

var ownerKindNames = [...]string{Nobody: "–", ByPodctl: "podctl", ByKubelet: "kubelet", BySource: "source"}

func (k OwnerKind) String() string {
	if int(k) < len(ownerKindNames) {
		return ownerKindNames[k]
	}
	return fmt.Sprintf("OwnerKind(%d)", uint8(k))
}

// Verdict is whose a pod is. The zero value is the pod of nobody.
type Verdict struct {
	Relation Relation
	// Kind is that of the owner, or of the one that may be it.
	Kind OwnerKind
	// Process is the podctl process of ByPodctl, else zero. Its Instance is "" where
	// processes cannot be seen.
	Process Process
	// Source is the name of the source of BySource: "a.yaml". Of ByKubelet it is that of
	// the kubelet, "" if none answered.
	Source string
	// Why is why the owner is not known; nil unless Relation is Unknown.
	Why error
}

// Evidence is all that the verdict about a pod depends on, each with the strongest value
// that applies. The zero value is a pod of no known creator of which nothing runs, and
// which nobody names.
type Evidence struct {
	Creator CreatorEvidence
	Process ProcessEvidence
	Source  SourceEvidence
	Kubelet KubeletEvidence
	// Runs: a container or a sandbox runs, or the kubelet has the pod's directory.
	Runs bool
}

// CreatorEvidence is what created the pod, by its newest sandbox.
type CreatorEvidence uint8

const (
	// NoSandbox: containers alone do not show what created them.
	NoSandbox CreatorEvidence = iota
	// CreatedByOther: neither podctl nor a kubelet: crictl runp, for example.
	CreatedByOther
	// CreatedByKubelet: it has the annotation or labels of a kubelet.
	CreatedByKubelet
	// CreatedByPodctl: it has podctl's annotation.
	CreatedByPodctl
)

// ProcessEvidence is what is known of podctl processes, weakest first.
type ProcessEvidence uint8

const (
	// NoProcess: no process that may have to do with the pod is alive.
	NoProcess ProcessEvidence = iota
	// ProcessWaits: a process names the pod, and waits to run it or has rejected it.
	ProcessWaits
	// NamesakeLives: another process of the name that created the pod is alive: it adopts
	// the pod, unless the creator is alive, too.
	NamesakeLives
	// ProcessUnseen: the process that has the pod may be alive and not visible.
	ProcessUnseen
	// ProcessSilent: a process with locks of its own, by another endpoint or run
	// directory, does not answer or has yet to adopt its pods. An instance of its name
	// created the pod, or it holds the pod's name.
	ProcessSilent
	// CreatorLives: the very process that created it is alive.
	CreatorLives
	// ProcessHoldsName: a live process holds the lock of its name.
	ProcessHoldsName
	// ProcessRuns: a process answered that it runs the pod.
	ProcessRuns
)

// SourceEvidence is what the sources of desired pods say that are neither podctl
// processes nor a kubelet that answered.
type SourceEvidence uint8

const (
	// NotNamed: no source that answered names the pod.
	NotNamed SourceEvidence = iota
	// SourceNamesName: one names it, by its name alone.
	SourceNamesName
	// SourceNamesUID: one names its UID.
	SourceNamesUID
)

// KubeletEvidence is what is known of the kubelet of the runtime.
type KubeletEvidence uint8

const (
	// KubeletAbsent: none uses the runtime. It may be stopped.
	KubeletAbsent KubeletEvidence = iota
	// KubeletGone: none uses the runtime. The user says that none will, or all of its
	// sources answered, and none names the pod.
	KubeletGone
	// KubeletUnsettled: one may use the runtime, and what it desires is not known.
	KubeletUnsettled
	// KubeletSourcesOmit: one uses the runtime, all of its sources answered, and none names
	// the pod by its UID.
	KubeletSourcesOmit
	// KubeletOmits: one uses the runtime, answered completely, and does not name the pod.
	KubeletOmits
	// KubeletNames: it names the pod.
	KubeletNames
)

var (
	creatorNames = [...]string{NoSandbox: "not known: no sandbox", CreatedByOther: "other", CreatedByKubelet: "kubelet", CreatedByPodctl: "podctl"}
	processNames = [...]string{
		NoProcess: "none", ProcessWaits: "names it and waits", NamesakeLives: "another process of the creator's name is alive",
		ProcessUnseen: "the one that has it may be alive and not visible",
		ProcessSilent: "may own it, by another endpoint or run directory, and does not answer or has not adopted its pods",
		CreatorLives:  "the process that created it is alive", ProcessHoldsName: "holds the lock of its name", ProcessRuns: "runs it",
	}
	sourceNames  = [...]string{NotNamed: "none names it", SourceNamesName: "names its name", SourceNamesUID: "names its UID"}
	kubeletNames = [...]string{
		KubeletAbsent: "none uses the runtime", KubeletGone: "gone, as the user or all of its sources say", KubeletUnsettled: "may not have named all of its pods",
		KubeletSourcesOmit: "all of its sources answered", KubeletOmits: "named all of its pods, not this one", KubeletNames: "names it",
	}
)

func (c CreatorEvidence) String() string { return creatorNames[c] }
func (p ProcessEvidence) String() string { return processNames[p] }
func (s SourceEvidence) String() string  { return sourceNames[s] }
func (k KubeletEvidence) String() string { return kubeletNames[k] }
