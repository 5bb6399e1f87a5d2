package target

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// workload is a workload as a word names it, or as its pods do. The zero value is none.
type workload struct{ kind, namespace, name string }

// workloadOf returns the workload that a word KIND/NAME may name, without its namespace.
func workloadOf(word string) workload {
	kind, name, _ := strings.Cut(word, "/")
	if kind = pod.WorkloadKind(kind); kind == "" || name == "" || strings.Contains(name, "/") {
		return workload{}
	}
	return workload{kind: kind, name: name}
}

// madeOf returns the workload of which podctl made the pod.
func madeOf(p *view.Pod) workload {
	parts := strings.Split(p.NewestSandbox().Workload, "/")
	if len(parts) != 3 {
		return workload{}
	}
	return workload{parts[0], parts[1], parts[2]}
}

// String is kubectl's KIND/NAME.
func (w workload) String() string { return strings.ToLower(w.kind) + "/" + w.name }

// replicas returns the pods of a workload, whose name is one of --namespace, as a pod's.
func (q Query) replicas(all []*view.Pod, w workload) ([]match, error) {
	for _, matches := range q.matchers() {
		var found []match
		namespaces := map[string]bool{}
		for _, p := range view.Current(all) {
			of := madeOf(p)
			if of.kind == w.kind && matches(w.name, of.name) && matches(q.namespace(), of.namespace) {
				found, namespaces[of.namespace] = append(found, match{pod: p, workload: true, byPattern: true}), true
			}
		}
		switch {
		case len(found) == 0:
			continue
		case q.namespace() != "" || q.AllNamespaces || len(namespaces) == 1:
			return found, nil
		case namespaces[defaultNamespace]:
			return slices.DeleteFunc(found, func(m match) bool { return madeOf(m.pod).namespace != defaultNamespace }), nil
		}
		var names []string
		for _, m := range found {
			names = appendNew(names, pod.DisplayName(madeOf(m.pod).namespace, madeOf(m.pod).name))
		}
		return nil, ambiguous(w.String(), names)
	}
	return nil, q.workloadNotFound(all, w)
}

func (q Query) workloadNotFound(all []*view.Pod, w workload) error {
	if !q.AllNamespaces {
		w.namespace = cmp.Or(q.Namespace, defaultNamespace)
	}
	e := &NotFoundError{Name: strings.TrimPrefix(pod.DisplayName(w.namespace, w.name), "/"), Workload: w.String()}
	for _, p := range all {
		of := madeOf(p)
		switch {
		case of.name != w.name:
		case of.namespace == w.namespace:
			e.Elsewhere = appendNew(e.Elsewhere, of.String())
		default:
			e.Elsewhere = appendNew(e.Elsewhere, fmt.Sprintf("%s of namespace %s", of, of.namespace))
		}
	}
	return e
}
