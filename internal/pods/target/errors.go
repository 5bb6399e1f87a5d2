package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// NotFoundError is the error for a name that no pod has.
type NotFoundError struct {
	// Name is the pod's name as far as it is known: NAMESPACE/NAME, or NAME if any
	// namespace was meant; or a pattern.
	Name string
	// Elsewhere are pods of the name in other namespaces, Nearest pods of similar
	// names: NAMESPACE/NAME.
	Elsewhere, Nearest []string
	// Container is POD/CONTAINER if a pod that was named before has a container of the name.
	Container string
	// Literal reports that the command takes names and no patterns.
	Literal bool
}

// NotFound returns the error for a NAME, NAMESPACE/NAME or pattern that no pod has. It
// suggests similar names.
func NotFound(all []*view.Pod, name string) error {
	var r reading
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		r = reading{namespace: namespace, pod: rest}
	} else {
		r.pod = name
	}
	return Query{}.notFound(all, r)
}

func (q Query) notFound(all []*view.Pod, r reading) error {
	e := &NotFoundError{Name: r.pod}
	if r.namespace != "" {
		e.Name = pod.DisplayName(r.namespace, r.pod)
	}
	if isPattern(e.Name) {
		e.Literal = q.Literal
		return e
	}
	var names []string
	for _, p := range all {
		if p.Name == r.pod {
			e.Elsewhere = appendNew(e.Elsewhere, p.CLIName())
		}
		names = append(names, p.Name)
	}
	near := suggest.Names(r.pod, names)
	for _, p := range all {
		if slices.Contains(near, p.Name) {
			e.Nearest = appendNew(e.Nearest, p.CLIName())
		}
	}
	return e
}

func appendNew(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("pod %s not found", e.Name) }

// Hint names pods that may be meant, or the command that lists pods.
func (e *NotFoundError) Hint() string {
	switch {
	case e.Container != "":
		return "a container is named after its pod: " + e.Container
	case e.Literal:
		return "a name, not a pattern: podctl pods '" + e.Name + "' -o name lists the names of its pods"
	case len(e.Elsewhere) > 0:
		return "there is " + strings.Join(e.Elsewhere, ", ")
	case len(e.Nearest) > 0:
		return "did you mean " + strings.Join(e.Nearest, ", ") + "?"
	}
	return "podctl pods lists all pods"
}

// ErrNoneMatch reports that no pod has the labels.
var ErrNoneMatch = hint.Errorf("podctl pods -o custom-columns=POD:.metadata.name,LABELS:.metadata.labels lists labels", "no pod matches")

const maxCandidates = 10

// ambiguous returns the error for a name or id that stands for several candidates.
func ambiguous(name string, candidates []string) error {
	return fmt.Errorf("%q is ambiguous: %s", name, list(candidates))
}

// list returns a bounded number of candidates as text.
func list(candidates []string) string {
	text := strings.Join(candidates[:min(len(candidates), maxCandidates)], ", ")
	if more := len(candidates) - maxCandidates; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// text returns the query as the user gave it, for an error.
func (q Query) text() string {
	if len(q.words()) > 0 {
		return strings.Join(q.words(), " ")
	}
	return q.Selector.String()
}

// ContainerNotFoundError is the error for a container that the pod does not have.
type ContainerNotFoundError struct {
	// Pod is NAMESPACE/NAME.
	Pod, Container string
	Known          []string
}

func containerNotFound(p *view.Pod, name string) error {
	known, spec := containerNames(p), specNames(p)
	switch {
	case len(known) == 0 && (len(spec) == 0 || slices.Contains(spec, name)):
		return &NoContainerError{Pod: p}
	case slices.Contains(spec, name):
		return &NoContainerError{p, name}
	case len(known) == 0:
		known = spec
	}
	return &ContainerNotFoundError{Pod: p.DisplayName(), Container: name, Known: known}
}

// NoContainerError is the error for a pod of which the runtime has no container: none of its
// spec's container of that name, "" is any.
type NoContainerError struct {
	Pod       *view.Pod
	Container string
}

func (e *NoContainerError) Error() string {
	text := strings.TrimSuffix(e.Pod.DisplayName()+"/"+e.Container, "/") + " has no container "
	if pod.IsTerminal(e.Pod.Worker.PodPhase) {
		return text + "any more"
	}
	return text + "yet"
}

// Hint is the command that says why, or how the pod ended.
func (e *NoContainerError) Hint() string { return "podctl describe " + e.Pod.CLIName() }

func (e *ContainerNotFoundError) Error() string {
	return fmt.Sprintf("pod %s has no container %q", e.Pod, e.Container)
}

// Hint names the containers of the pod.
func (e *ContainerNotFoundError) Hint() string {
	if near := suggest.Word(e.Container, e.Known); near != "" {
		return "did you mean " + near + "?"
	}
	return "its containers: " + strings.Join(e.Known, ", ")
}

// AttemptNotFoundError is the error for an attempt of a container that the runtime does not
// have.
type AttemptNotFoundError struct {
	Pod, Container string
	Attempt        uint32
	Previous       bool
	// Known are the attempts that it has, newest first.
	Known []uint32
	// Exited: the newest attempt has exited.
	Exited bool
}

func (e *AttemptNotFoundError) Error() string {
	if e.Previous {
		return fmt.Sprintf("container %s/%s has no previous attempt", e.Pod, e.Container)
	}
	return fmt.Sprintf("container %s/%s has no attempt %d", e.Pod, e.Container, e.Attempt)
}

// Hint lists the attempts that there are.
func (e *AttemptNotFoundError) Hint() string {
	switch {
	case e.Previous && e.Exited:
		return "the runtime has its newest attempt only, which has exited: it is shown without --previous"
	case e.Previous:
		return "the runtime has its newest attempt only"
	}
	var known []string
	for _, a := range e.Known {
		known = append(known, fmt.Sprint(a))
	}
	return "the runtime has attempt " + strings.Join(known, ", ")
}

// IsGone reports whether the query names nothing now.
func IsGone(err error) bool {
	_, container := errors.AsType[*ContainerNotFoundError](err)
	_, yet := errors.AsType[*NoContainerError](err)
	return container || yet || IsNoPod(err)
}

// IsNoPod reports whether an error says that a pod does not exist.
func IsNoPod(err error) bool {
	_, notFound := errors.AsType[*NotFoundError](err)
	return notFound || errors.Is(err, ErrNoneMatch)
}

// OnlyErrors reports whether all of several errors as one are of a kind.
func OnlyErrors(err error, is func(error) bool) bool {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return !OnlyErrors(err, is) })
	}
	return is(err)
}
