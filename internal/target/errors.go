package target

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/suggest"
)

// NotFoundError: no pod has the name.
type NotFoundError struct {
	// Name is the pod's name as far as it is known: NAMESPACE/NAME, or NAME if any
	// namespace was meant; or a pattern.
	Name string
	// Elsewhere are pods of the name in other namespaces, Nearest pods of similar
	// names: NAMESPACE/NAME.
	Elsewhere, Nearest []string
}

// NotFound returns the error for a NAME, NAMESPACE/NAME or pattern that no pod has, with
// what is near.
func NotFound(all []*inventory.Pod, name string) error {
	var r reading
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		r = reading{namespace: namespace, pod: rest}
	} else {
		r.pod = name
	}
	return notFound(all, r)
}

func notFound(all []*inventory.Pod, r reading) error {
	e := &NotFoundError{Name: r.pod}
	if r.namespace != "" {
		e.Name = pod.DisplayName(r.namespace, r.pod)
	}
	if isPattern(e.Name) {
		return e
	}
	var names []string
	for _, p := range all {
		if p.Name == r.pod {
			e.Elsewhere = appendNew(e.Elsewhere, p.DisplayName())
		}
		names = append(names, p.Name)
	}
	near := suggest.Names(r.pod, names)
	for _, p := range all {
		if slices.Contains(near, p.Name) {
			e.Nearest = appendNew(e.Nearest, p.DisplayName())
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
	case len(e.Elsewhere) > 0:
		return "there is " + strings.Join(e.Elsewhere, ", ")
	case len(e.Nearest) > 0:
		return "did you mean " + strings.Join(e.Nearest, ", ") + "?"
	}
	return "podctl pods lists all pods"
}

// NoneMatchError: no pod has the labels.
type NoneMatchError struct{}

func (*NoneMatchError) Error() string { return "no pod matches" }

// Hint implements the optional interface of errors.
func (*NoneMatchError) Hint() string {
	return "podctl pods -o custom-columns=POD:.metadata.name,LABELS:.metadata.labels lists labels"
}

// NothingNamedError: the query names no pod where it must.
type NothingNamedError struct{}

func (*NothingNamedError) Error() string { return "no pod given" }

// Hint implements the optional interface of errors.
func (*NothingNamedError) Hint() string { return "[NAMESPACE/]POD[/CONTAINER]; podctl pods lists them" }

// AmbiguousError: a name or id stands for several.
type AmbiguousError struct {
	Name string
	// Candidates are the names of what it stands for, at most maxCandidates; Count
	// is the number of all.
	Candidates []string
	Count      int
}

const maxCandidates = 10

func ambiguous(name string, candidates []string) error {
	return &AmbiguousError{Name: name, Candidates: candidates[:min(len(candidates), maxCandidates)], Count: len(candidates)}
}

func (e *AmbiguousError) Error() string {
	text := fmt.Sprintf("%q is ambiguous: %s", e.Name, strings.Join(e.Candidates, ", "))
	if more := e.Count - len(e.Candidates); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// text is the query as the user gave it, for an error.
func (q Query) text() string {
	if len(q.words()) > 0 {
		return strings.Join(q.words(), " ")
	}
	return q.Selector.String()
}

// ContainerNotFoundError: the pod has no container of the name.
type ContainerNotFoundError struct {
	// Pod is NAMESPACE/NAME.
	Pod, Container string
	Known          []string
}

func containerNotFound(p *inventory.Pod, name string) error {
	return &ContainerNotFoundError{Pod: p.DisplayName(), Container: name, Known: containerNames(p)}
}

func (e *ContainerNotFoundError) Error() string {
	return fmt.Sprintf("pod %s has no container %q", e.Pod, e.Container)
}

// Hint names the containers of the pod.
func (e *ContainerNotFoundError) Hint() string {
	if len(e.Known) == 0 {
		return "the runtime has no container of it"
	}
	if near := suggest.Word(e.Container, e.Known); near != "" {
		return "did you mean " + near + "?"
	}
	return "its containers: " + strings.Join(e.Known, ", ")
}

// ContainerGivenError: a container is named where a pod must be.
type ContainerGivenError struct{ Pod, Container string }

func (e *ContainerGivenError) Error() string {
	return fmt.Sprintf("%s/%s is a container", e.Pod, e.Container)
}

// Hint names the pod.
func (e *ContainerGivenError) Hint() string { return "its pod is " + e.Pod }

// ConflictError: the word and the flag name different containers.
type ConflictError struct{ Pod, Word, Flag string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("pod %s: both container %q and --container %q given", e.Pod, e.Word, e.Flag)
}

// AttemptNotFoundError: the runtime does not have this attempt of the container.
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
