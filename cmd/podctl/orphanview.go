package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

// sourceKind is what kind of source was asked what it desires.
type sourceKind uint8

const (
	fromPodctl sourceKind = iota
	fromFile
	fromKubelet
	fromStatic
	fromCluster
)

// askedSource is a source and its answer.
type askedSource struct {
	desired.Answer
	kind sourceKind
	// named: the user named it, rather than that it was found.
	named bool
}

// orphanView is what one look at the node has shown.
type orphanView struct {
	orphanFacts
	sources []askedSource
	// kubelet uses the runtime, nil if none does; kubeletErr is why that cannot be
	// told.
	kubelet    *kubelet.Near
	kubeletErr error
}

// read tells whether a source of the kind answered.
func (v *orphanView) read(kind sourceKind) bool {
	return slices.ContainsFunc(v.sources, func(s askedSource) bool { return s.kind == kind && s.Err == nil })
}

// refusal is why nothing may be ended after this look: an answer that is missing
// would make orphans of somebody's pods.
func (v *orphanView) refusal() error {
	if v.kubeletErr != nil {
		return v.kubeletErr
	}
	var errs []error
	for _, s := range v.sources {
		if s.Err != nil && s.named {
			errs = append(errs, s.Err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("what belongs here cannot be told: %w", err)
	}
	switch {
	case v.kubelet == nil, v.read(fromCluster) && v.read(fromStatic):
		return nil
	case !v.read(fromKubelet):
		return &unreadKubeletError{pid: v.kubelet.PID, why: v.why(fromKubelet)}
	case v.kubelet.Follows && !v.read(fromCluster) && !v.heard():
		return &unreadKubeletError{pid: v.kubelet.PID, why: errUnheard}
	}
	return nil
}

// errUnheard: a kubelet that was started while its API server did not answer
// knows its static pods alone, and leaves the others running.
var errUnheard = errors.New("it names no pod of its API server, which it may not have heard from yet")

// heard tells whether a kubelet names a pod that its API server gave it.
func (v *orphanView) heard() bool {
	return slices.ContainsFunc(v.sources, func(s askedSource) bool {
		return s.kind == fromKubelet && slices.ContainsFunc(s.Pods, func(p *v1.Pod) bool { return p.Annotations[pod.ConfigSourceAnnotation] == "api" })
	})
}

// why is why the source of the kind did not answer.
func (v *orphanView) why(kind sourceKind) error {
	for _, s := range v.sources {
		if s.kind == kind && s.Err != nil {
			return s.Err
		}
	}
	return nil
}

// unreadKubeletError: a kubelet lives here, and its pods would be taken for
// orphans.
type unreadKubeletError struct {
	pid int
	why error
}

func (e *unreadKubeletError) Error() string {
	return fmt.Sprintf("a kubelet (pid %d) uses this runtime, and which pods it wants cannot be told: %v", e.pid, e.why)
}

func (e *unreadKubeletError) Unwrap() error { return e.why }

// Hint is how to let it be told.
func (*unreadKubeletError) Hint() string {
	return "let it answer: --kubelet https://127.0.0.1:10250 with --kubelet-token-file, or --kubelet-cert and --kubelet-key\n" +
		"or give what it follows: --kubeconfig with --node, and --static-pods"
}

// asked is the line that says who spoke, for people.
func (v *orphanView) asked() string {
	var spoke []string
	for _, s := range v.sources {
		if s.Err == nil {
			spoke = append(spoke, fmt.Sprintf("%s (%s)", s.Source, output.Plural(len(s.Pods), "pod")))
		}
	}
	line := "asked: " + strings.Join(spoke, ", ")
	if len(spoke) == 0 {
		line = "asked: nobody, for no podctl lives here"
	}
	switch {
	case v.kubeletErr != nil:
		line += " · " + v.kubeletErr.Error()
	case v.kubelet == nil:
		line += " · no kubelet on this socket"
	default:
		line += fmt.Sprintf(" · a kubelet (pid %d) uses this socket", v.kubelet.PID)
	}
	return line
}

// unread are the lines about those who did not answer.
func (v *orphanView) unread() []string {
	var lines []string
	for _, s := range v.sources {
		if s.Err != nil {
			lines = append(lines, fmt.Sprintf("not read: %s: %s", s.Source, output.OneLine(s.Err.Error())))
		}
	}
	if v.dirsUnknown != "" {
		lines = append(lines, "directories are not judged: "+v.dirsUnknown)
	}
	return lines
}
