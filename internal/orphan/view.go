package orphan

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/hint"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/kubelet"
)

// SourceKind is the kind of a source of desired pods.
type SourceKind uint8

// The kinds.
const (
	FromPodctl SourceKind = iota
	FromFile
	FromKubelet
	FromStatic
	FromCluster
)

// Source is a source of desired pods and its answer.
type Source struct {
	desired.Answer
	Kind SourceKind
	// Named: the user named it, rather than that it was found.
	Named bool
	// Kubelet is the whole answer of a kubelet.
	Kubelet kubelet.Answer
}

// View is one look at the node.
type View struct {
	Facts
	Sources []Source
	// Near is the kubelet that uses the runtime, nil if none does; NearErr is why
	// that could not be determined.
	Near    *kubelet.Process
	NearErr error
	// OwnerIsGone: the user says that podctl processes that are not seen do not exist.
	OwnerIsGone bool
}

// read reports whether a source of the kind answered.
func (v *View) read(kind SourceKind) bool {
	return slices.ContainsFunc(v.Sources, func(s Source) bool { return s.Kind == kind && s.Err == nil })
}

// Missing is an error for each named manifest that does not exist: a mistyped
// name, not a source that fails to answer.
func (v *View) Missing() error {
	var errs []error
	for _, s := range v.Sources {
		if s.Kind == FromFile && errors.Is(s.Err, fs.ErrNotExist) {
			errs = append(errs, s.Err)
		}
	}
	return errors.Join(errs...)
}

// Refusal is why no pod may be terminated after this look: without an answer that
// is missing, pods of that source would count as orphans.
func (v *View) Refusal() error {
	var errs []error
	for _, s := range v.Sources {
		if s.Err != nil && s.Named {
			errs = append(errs, s.Err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the desired pods are not known: %w", err)
	}
	if v.Near != nil && v.Kubelet.Gone {
		return fmt.Errorf("--kubelet-is-gone: a kubelet (pid %d) uses this runtime", v.Near.PID)
	}
	return nil
}

// unsettled is why the pods that the kubelet desires are not known, nil if the
// sources have them all. The cluster and the static pods together stand in for
// its answer.
func (v *View) unsettled() error {
	switch {
	case v.NearErr != nil:
		return v.NearErr
	case v.read(FromCluster) && v.read(FromStatic):
		return nil
	case v.Near == nil && !v.read(FromKubelet):
		return &kubelet.AbsentError{}
	case !v.read(FromKubelet):
		return v.notKnown(v.failure(FromKubelet))
	}
	answer := v.KubeletAnswer().Kubelet
	incomplete := answer.Incomplete
	if v.read(FromCluster) {
		incomplete = answer.IncompleteBesideCluster
	}
	if incomplete != nil {
		return hint.With(incomplete, readKubeletHint)
	}
	if err := v.foreign(); err != nil && v.Near != nil {
		return v.notKnown(err)
	} else if err != nil {
		return err
	}
	return nil
}

// notKnown is an error that says why the pods are not known that the kubelet of this
// runtime desires.
func (v *View) notKnown(cause error) error {
	return hint.Errorf(readKubeletHint, "a kubelet (pid %d) uses this runtime, and its desired pods are not known: %w", v.Near.PID, cause)
}

// readKubeletHint names the flags by which a kubelet's pods can be read.
const readKubeletHint = "read its pods: --kubelet https://127.0.0.1:10250 with --kubelet-token-file, or --kubelet-cert and --kubelet-key\n" +
	"or read its sources: --kubeconfig with --node, and --static-pods"

// foreign is an error if the kubelet that answered was named, and may not be the one
// of this runtime: none of its pods runs here.
func (v *View) foreign() error {
	answer := v.KubeletAnswer()
	if !answer.Named {
		return nil
	}
	itsPod := map[types.UID]bool{}
	for _, p := range answer.Pods {
		itsPod[p.UID] = true
	}
	runsHere := func(p *inventory.Pod) bool {
		return itsPod[p.GivenUID()] && p.Kind() == inventory.KindKubelet && p.Runtime != nil && p.Runtime.Running()
	}
	if slices.ContainsFunc(v.Pods, runsHere) {
		return nil
	}
	return hint.Errorf("pass the --kubelet that uses this runtime, or --kubelet-is-gone if it is never started again",
		"%s names none of the pods that run here, and may be the kubelet of another runtime", answer.Source)
}

// KubeletAnswer is the answer of the kubelet that was asked: of this runtime, or the
// one that was named. Without one it is empty.
func (v *View) KubeletAnswer() Source {
	for _, s := range v.Sources {
		if s.Kind == FromKubelet {
			return s
		}
	}
	return Source{}
}

// failure is why the source of the kind did not answer.
func (v *View) failure(kind SourceKind) error {
	for _, s := range v.Sources {
		if s.Kind == kind && s.Err != nil {
			return s.Err
		}
	}
	return nil
}

// UndeterminedError: pods cannot be terminated as orphans, because what their owners
// desire is not known.
type UndeterminedError struct {
	Pods  []*inventory.Pod
	Cause error
}

func (e *UndeterminedError) Error() string {
	if len(e.Pods) == 1 {
		return fmt.Sprintf("%s may not be orphaned: %v", e.Pods[0].DisplayName(), e.Cause)
	}
	return fmt.Sprintf("%d pods may not be orphaned: %v", len(e.Pods), e.Cause)
}

func (e *UndeterminedError) Unwrap() error { return e.Cause }
