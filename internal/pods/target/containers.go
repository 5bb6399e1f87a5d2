package target

import (
	"errors"
	"fmt"
	"slices"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Containers returns the containers that a query names, each once: for each pod the named
// one, else the default one, or all of them. With an error it returns the containers that
// were found all the same.
func Containers(all []*view.Pod, q Query) ([]Target, error) {
	matched, errs := q.resolve(all, false)
	var found []Target
	var passed error // a pod of a pattern without the container
	for _, m := range matched {
		targets, err := q.containersOf(m)
		switch {
		case err != nil && m.byPattern:
			passed = err
		case err != nil:
			errs = append(errs, err)
		}
		for _, t := range targets {
			if !slices.ContainsFunc(found, t.is) {
				found = append(found, t)
			}
		}
	}
	switch {
	case len(found) > 0 || len(errs) > 0 || !q.Names():
	case passed != nil:
		errs = append(errs, passed)
	default:
		errs = append(errs, ErrNoneMatch)
	}
	return found, errors.Join(errs...)
}

// One returns the container that a query names. If it names several, the error has their
// names.
func One(all []*view.Pod, q Query) (Target, error) {
	if !q.Names() {
		return Target{}, hint.Errorf("[NAMESPACE/]POD[/CONTAINER]; podctl pods lists them", "no pod given")
	}
	found, err := Containers(all, q)
	if err != nil {
		return Target{}, err
	}
	if len(found) > 1 {
		var names []string
		for _, t := range found {
			names = append(names, t.CLIName())
		}
		return Target{}, ambiguous(q.text(), names)
	}
	return found[0], nil
}

// containersOf returns the containers of one pod that the query names. A word may name a
// container beside -c only if both are the same.
func (q Query) containersOf(m match) ([]Target, error) {
	wanted := m.container
	if q.Container != "" {
		if wanted != "" && wanted != q.Container {
			return nil, fmt.Errorf("pod %s: both container %q and --container %q given", m.pod.DisplayName(), wanted, q.Container)
		}
		wanted = q.Container
	}
	if m.exact != nil && q.Attempt == nil && !q.Previous {
		return []Target{{Pod: m.pod, Container: m.exact}}, nil
	}
	names := containerNames(m.pod)
	switch {
	case wanted != "":
		named := []string{wanted}
		if !slices.Contains(names, wanted) {
			named = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !matches(wanted, name) })
		}
		if len(named) == 0 {
			return nil, containerNotFound(m.pod, wanted)
		}
		return q.attempts(m.pod, named)
	case len(names) == 0:
		return []Target{{Pod: m.pod}}, nil
	case q.AllContainers:
		return q.attempts(m.pod, names)
	}
	name, byAnnotation := defaultContainer(m.pod, names)
	targets, err := q.attempts(m.pod, []string{name})
	if err == nil && !byAnnotation && len(names) > 1 {
		targets[0].DefaultedFrom = slices.DeleteFunc(names, func(n string) bool { return n == name })
	}
	return targets, err
}

// attempts returns, for each container that has it, the attempt that the query names; it is
// an error if none has it.
func (q Query) attempts(p *view.Pod, names []string) ([]Target, error) {
	var found []Target
	var missing error
	for _, name := range names {
		c, err := q.attempt(p, name)
		if err != nil {
			missing = err
			continue
		}
		found = append(found, Target{Pod: p, Container: c})
	}
	if len(found) == 0 {
		return nil, missing
	}
	return found, nil
}

// attempt returns the attempt of a container that the query names.
func (q Query) attempt(p *view.Pod, name string) (*pod.Container, error) {
	attempts := Attempts(p, name)
	switch {
	case q.Previous:
		if c := previous(p, attempts); c != nil {
			return c, nil
		}
		return nil, previousNotFound(p, attempts[0])
	case q.Attempt == nil:
		return attempts[0], nil
	}
	e := &AttemptNotFoundError{Pod: p.DisplayName(), Container: name, Attempt: *q.Attempt}
	for _, c := range attempts {
		if c.Attempt == *q.Attempt {
			return c, nil
		}
		e.Known = append(e.Known, c.Attempt)
	}
	return nil, e
}

// Attempts returns the attempts of a container that the runtime has, newest first.
func Attempts(p *view.Pod, name string) []*pod.Container {
	var attempts []*pod.Container
	for _, c := range p.ListedContainers() {
		if c.Name == name {
			attempts = append(attempts, c)
		}
	}
	return attempts
}

// Pods returns the pods that a query names, each once. With an error it returns the pods
// that were found all the same. The error joins one for each word; it is a *NotFoundError
// for a word that no pod has. A container stands for its pod where it is named by its id
// and words need not be literal.
func Pods(all []*view.Pod, q Query) ([]*view.Pod, error) {
	matched, errs := q.resolve(all, true)
	var found []*view.Pod
	for _, m := range matched {
		if m.container != "" && (m.exact == nil || q.Literal) {
			errs = append(errs, hint.Errorf("its pod is "+m.pod.CLIName(), "%s/%s is a container", m.pod.DisplayName(), m.container))
			continue
		}
		if !slices.Contains(found, m.pod) {
			found = append(found, m.pod)
		}
	}
	if len(found) == 0 && len(errs) == 0 && q.Names() {
		errs = append(errs, ErrNoneMatch)
	}
	return found, errors.Join(errs...)
}

// Chosen are containers of a pod by their names: all of it if there are none.
type Chosen struct {
	Pod        *view.Pod
	Containers []string
}

// WholePods returns the pods that a query names, each once, with the containers of those
// words that name one. A pod that a word names alone is meant as a whole. With an error it
// returns what was found all the same.
func WholePods(all []*view.Pod, q Query) ([]Chosen, error) {
	matched, errs := q.resolve(all, false)
	var found []Chosen
	for _, m := range matched {
		i := slices.IndexFunc(found, func(c Chosen) bool { return c.Pod == m.pod })
		if i < 0 {
			c := Chosen{Pod: m.pod}
			if m.container != "" {
				c.Containers = []string{m.container}
			}
			found = append(found, c)
			continue
		}
		switch c := &found[i]; {
		case m.container == "":
			c.Containers = nil
		case len(c.Containers) > 0 && !slices.Contains(c.Containers, m.container):
			c.Containers = append(c.Containers, m.container)
		}
	}
	return found, errors.Join(errs...)
}
