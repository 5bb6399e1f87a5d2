package orphan

import (
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/pod"
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
}

// View is one look at the node.
type View struct {
	Facts
	Sources []Source
	// Kubelet uses the runtime, nil if none does; KubeletErr is why that could not
	// be determined.
	Kubelet    *kubelet.Near
	KubeletErr error
}

// read reports whether a source of the kind answered.
func (v *View) read(kind SourceKind) bool {
	return slices.ContainsFunc(v.Sources, func(s Source) bool { return s.Kind == kind && s.Err == nil })
}

// Refusal is why no pod may be terminated after this look: without an answer that
// is missing, pods of that source would count as orphans.
func (v *View) Refusal() error {
	if v.KubeletErr != nil {
		return v.KubeletErr
	}
	var errs []error
	for _, s := range v.Sources {
		if s.Err != nil && s.Named {
			errs = append(errs, s.Err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the desired pods are not known: %w", err)
	}
	switch {
	case v.Kubelet == nil, v.read(FromCluster) && v.read(FromStatic):
		return nil
	case !v.read(FromKubelet):
		return &UnreadKubeletError{PID: v.Kubelet.PID, Cause: v.failure(FromKubelet)}
	case v.Kubelet.Follows && !v.read(FromCluster) && !v.heard():
		return &UnreadKubeletError{PID: v.Kubelet.PID, Cause: errUnheard}
	}
	return nil
}

// errUnheard: a kubelet that started while its API server did not answer knows
// only its static pods, and leaves the others running.
var errUnheard = errors.New("it names no pod of its API server, and may not have reached it yet")

// heard reports whether the kubelet names a pod that its API server assigned.
func (v *View) heard() bool {
	return slices.ContainsFunc(v.Sources, func(s Source) bool {
		return s.Kind == FromKubelet && slices.ContainsFunc(s.Pods, func(p *v1.Pod) bool { return p.Annotations[pod.ConfigSourceAnnotation] == "api" })
	})
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

// UnreadKubeletError: a kubelet uses the runtime, and its pods are not known.
type UnreadKubeletError struct {
	PID   int
	Cause error
}

func (e *UnreadKubeletError) Error() string {
	return fmt.Sprintf("a kubelet (pid %d) uses this runtime, and its desired pods are not known: %v", e.PID, e.Cause)
}

func (e *UnreadKubeletError) Unwrap() error { return e.Cause }

// Hint names the flags by which its pods can be read.
func (*UnreadKubeletError) Hint() string {
	return "read its pods: --kubelet https://127.0.0.1:10250 with --kubelet-token-file, or --kubelet-cert and --kubelet-key\n" +
		"or read its sources: --kubeconfig with --node, and --static-pods"
}
