package owners

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

// evidenceSources are who the evidence is about.
type evidenceSources struct {
	process Process
	source  string
}

// evidence reduces what the answers say of one pod.
func (a *Answers) evidence(p *pod.Pod) (e Evidence, who evidenceSources) {
	e.Creator = creatorOf(p)
	e.Process, who.process = a.processOf(p)
	e.Source, who.source = a.sourceOf(p, e.Creator)
	e.Kubelet = a.kubeletOf(p)
	e.Runs = p.MayBeRunning() || a.Kubelet.HasDir[p.UID]
	return e, who
}

func creatorOf(p *pod.Pod) CreatorEvidence {
	switch {
	case len(p.Sandboxes) == 0:
		return NoSandbox
	case p.Sandboxes[0].Owner != "":
		return CreatedByPodctl
	case p.MadeByKubelet():
		return CreatedByKubelet
	}
	return CreatedByOther
}

// processOf returns the strongest evidence about podctl processes, and its process.
func (a *Answers) processOf(p *pod.Pod) (ProcessEvidence, Process) {
	evidence, found := NoProcess, Process{}
	for i := range a.Processes {
		process := &a.Processes[i]
		if got := process.evidence(p); got > evidence {
			evidence, found = got, *process
		}
	}
	if h, held := a.names[p.FullName()]; held {
		got := ProcessHoldsName
		if h.silent {
			got = ProcessSilent
		}
		if got > evidence {
			evidence, found = got, h.Process
		}
	}
	if evidence < ProcessUnseen && a.mayBeUnseen(p) { // whatever others wait for it
		return ProcessUnseen, Process{}
	}
	return evidence, found
}

// evidence is what one process says of a pod.
func (p *Process) evidence(listed *pod.Pod) ProcessEvidence {
	creator, id := createdBy(listed)
	w, named := p.Workers[listed.UID]
	named = named && mayBePodctls(creatorOf(listed))
	switch {
	case named && w.Rejected == "":
		return ProcessRuns
	case !p.Elsewhere && creator != "" && p.is(creator, id):
		return CreatorLives
	case p.Elsewhere && !p.Settled && creator != "" && (p.Name == creator || p.is(creator, id)):
		return ProcessSilent
	case !p.Elsewhere && creator != "" && p.Name == creator:
		return NamesakeLives
	case named:
		return ProcessWaits
	}
	return NoProcess
}

// mayBePodctls reports whether podctl created a pod, or may have. No podctl process has a
// pod that others created, though it has the UID of one of its own.
func mayBePodctls(c CreatorEvidence) bool { return c == CreatedByPodctl || c == NoSandbox }

// createdBy returns the instance that created the newest sandbox and the id of its
// process, "" if podctl did not.
func createdBy(p *pod.Pod) (instance, id string) {
	if len(p.Sandboxes) == 0 {
		return "", ""
	}
	return p.Sandboxes[0].Owner, p.Sandboxes[0].OwnerID
}

// mayBeUnseen reports whether the podctl process that created a pod may be alive and not
// visible: unless that very process was killed, for then its lock was found.
// Where not all processes could be asked, that of containers without a sandbox, too.
func (a *Answers) mayBeUnseen(p *pod.Pod) bool {
	creator, id := createdBy(p)
	if a.Unread != nil && mayBePodctls(creatorOf(p)) {
		return true
	}
	return a.Unseen != nil && creator != "" && (id == "" || a.Exited[creator].ID != id)
}

func (a *Answers) sourceOf(p *pod.Pod, creator CreatorEvidence) (SourceEvidence, string) {
	source, byUID := a.sources().by(p.UID, p.FullName(), creator)
	if !byUID && p.SharedUID != "" {
		if shared, ok := a.sources().by(p.SharedUID, "", NoSandbox); ok {
			source, byUID = shared, true
		}
	}
	switch {
	case source == "":
		return NotNamed, ""
	case byUID:
		return SourceNamesUID, source
	}
	return SourceNamesName, source
}

func (a *Answers) kubeletOf(p *pod.Pod) KubeletEvidence {
	k, names := &a.Kubelet, a.sources().kubelet
	_, absent := errors.AsType[*kubelet.AbsentError](k.Unsettled)
	switch {
	case names[p.GivenUID()]:
		return KubeletNames
	case k.Gone && k.PID == 0:
		return KubeletGone
	case absent:
		return KubeletAbsent
	case k.Unsettled != nil:
		return KubeletUnsettled
	case k.PID == 0:
		return KubeletGone
	case !k.answered():
		return KubeletSourcesOmit
	}
	return KubeletOmits
}

// why is why the owner of a pod is not known; never nil.
func (a *Answers) why(by OwnerKind, who evidenceSources) error {
	switch {
	case by == ByKubelet:
		return a.Kubelet.Unsettled
	case who.process.Name != "":
		return who.process.NoAnswerError()
	case a.Unseen != nil:
		return a.Unseen
	case a.Unread != nil:
		return a.Unread
	}
	return errHolderUnread
}

// errHolderUnread: the lock of a pod's name is held, and does not say by whom.
var errHolderUnread = errors.New("a podctl process holds its name, and it cannot be seen which")

// NoAnswerError is why a process does not say whether it owns a pod.
func (p *Process) NoAnswerError() error {
	state := "has yet to adopt its pods"
	if p.Err != nil {
		state = fmt.Sprintf("does not answer: %v", p.Err)
	}
	if p.Stopped {
		state = "is stopped (state T), and does not answer"
	}
	return fmt.Errorf("%s %s", p.Title(), state)
}

// Title is the process as texts name it: podctl "agent" (pid 812).
func (p *Process) Title() string {
	if p.PID == 0 {
		return fmt.Sprintf("podctl %q", p.Name)
	}
	return fmt.Sprintf("podctl %q (pid %d)", p.Name, p.PID)
}

// Desired counts the pods that the process desires.
func (p *Process) Desired() int {
	n := 0
	for _, w := range p.Workers {
		if w.Desired {
			n++
		}
	}
	return n
}

// NamedHere reports whether a process of the runtime's directory names a pod by its UID.
func (a *Answers) NamedHere(uid types.UID) bool {
	return slices.ContainsFunc(a.Processes, func(p Process) bool {
		_, named := p.Workers[uid]
		return named && !p.Elsewhere
	})
}
