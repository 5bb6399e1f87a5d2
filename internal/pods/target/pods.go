package target

import (
	"errors"
	"slices"

	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Pods returns the pods that a query names, each once. With an error it returns the pods
// that were found all the same. The error joins one for each word; it is a *NotFoundError
// for a word that no pod has.
func Pods(all []*inventory.Pod, q Query) ([]*inventory.Pod, error) {
	matched, errs := q.resolve(all, true)
	var found []*inventory.Pod
	for _, m := range matched {
		if m.container != "" {
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
