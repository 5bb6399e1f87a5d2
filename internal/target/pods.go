package target

import (
	"errors"
	"slices"

	"github.com/podctl/podctl/internal/inventory"
)

// Pods returns the pods that a query names, each once. With an error it returns
// those that were found in spite of it. The error joins a *NotFoundError,
// *AmbiguousError, *SyntaxError or *ContainerGivenError for each word.
func Pods(all []*inventory.Pod, q Query) ([]*inventory.Pod, error) {
	matched, errs := q.resolve(all, true)
	var found []*inventory.Pod
	for _, m := range matched {
		if m.container != "" {
			errs = append(errs, &ContainerGivenError{Pod: m.pod.DisplayName(), Container: m.container})
			continue
		}
		if !slices.Contains(found, m.pod) {
			found = append(found, m.pod)
		}
	}
	if len(found) == 0 && len(errs) == 0 && q.Names() {
		errs = append(errs, &NoneMatchError{})
	}
	return found, errors.Join(errs...)
}
