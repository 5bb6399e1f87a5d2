package target

import (
	"errors"
	"slices"

	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

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
