package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// minID is the number of characters from which on a word may be the beginning of
// a UID or id.
const minID = 6

// IsID reports whether a word may be the beginning of an id of the runtime. It may be a name, too.
func IsID(word string) bool {
	return len(word) >= minID && strings.Trim(word, "0123456789abcdef") == ""
}

// defaultNamespace is preferred for a name without a namespace.
const defaultNamespace = "default"

// match is a pod that a word stands for, and the container that the word names.
type match struct {
	pod *view.Pod
	// container is a name or pattern, "" if the word has none. exact is the
	// container of which the word is the id.
	container string
	exact     *pod.Container
	// byPattern: a pattern or selector matched, so that a pod without the container is
	// left out.
	byPattern bool
}

// resolve returns the matches of the query in the order of its words, each pod and container
// once, and an error for each word without a match.
func (q Query) resolve(all []*view.Pod, wantsPod bool) ([]match, []error) {
	words := q.words()
	if len(words) == 0 {
		return q.filterBySelector(q.everyPod(all)), nil
	}
	var found []match
	var errs []error
	for _, word := range words {
		matched, err := q.resolveWord(all, word, wantsPod)
		if err != nil {
			if missing, ok := errors.AsType[*NotFoundError](err); ok && !wantsPod {
				missing.Container = containerOf(found, word)
			}
			errs = append(errs, err)
			continue
		}
		found = append(found, q.filterBySelector(matched)...)
	}
	return found, errs
}

// containerOf returns POD/CONTAINER if a pod of an earlier word has the container, else "":
// kubectl takes the container as a second argument.
func containerOf(earlier []match, container string) string {
	for _, m := range earlier {
		if slices.Contains(containerNames(m.pod), container) {
			return m.pod.CLIName() + "/" + container
		}
	}
	return ""
}

func (q Query) everyPod(all []*view.Pod) []match {
	var every []match
	for _, p := range view.Current(all) {
		if matches(q.namespace(), p.Namespace) {
			every = append(every, match{pod: p, byPattern: true})
		}
	}
	return every
}

// filterBySelector returns the matches with the selector's labels.
func (q Query) filterBySelector(matched []match) []match {
	filter := view.Filter{Selector: q.Selector}
	return slices.DeleteFunc(matched, func(m match) bool { return !filter.Selects(m.pod) })
}

// resolveWord returns the pods that a word stands for.
func (q Query) resolveWord(all []*view.Pod, word string, wantsPod bool) ([]match, error) {
	parts, err := split(word, all)
	if err != nil {
		return nil, err
	}
	readings := q.readings(parts, wantsPod)
	for _, match := range q.matchers() {
		for _, r := range readings {
			found, err := q.matchReading(all, r, match)
			if err != nil || len(found) > 0 {
				return found, err
			}
		}
	}
	if len(parts) == 1 && slices.ContainsFunc(all, func(p *view.Pod) bool { return p.Name == word }) {
		return nil, q.notFound(all, readings[0]) // the name of a pod elsewhere is no id
	}
	if found, err := byID(all, word, parts); err != nil || len(found) > 0 {
		return found, err
	}
	if p := q.withoutContainer(all, parts); p != nil {
		return nil, containerNotFound(p, parts[len(parts)-1])
	}
	return nil, q.notFound(all, readings[0])
}

// matchReading returns the pods of one reading. If the reading has a container, they are
// those that have it.
func (q Query) matchReading(all []*view.Pod, r reading, matches matcher) ([]match, error) {
	var found []match
	loose := false
	for _, p := range view.Current(all) {
		if matches(r.namespace, p.Namespace) && matches(r.pod, p.Name) && (r.container == "" || hasContainer(p, r.container, matches)) {
			loose = loose || !equals(r.namespace, p.Namespace) || !equals(r.pod, p.Name)
			found = append(found, match{pod: p, container: r.container})
		}
	}
	for i := range found {
		found[i].byPattern = loose
	}
	if r.namespace != "" || loose || q.AllNamespaces || len(found) < 2 {
		return found, nil
	}
	if i := slices.IndexFunc(found, func(m match) bool { return m.pod.Namespace == defaultNamespace }); i >= 0 {
		return found[i : i+1], nil
	}
	return nil, ambiguous(r.pod, displayNames(found))
}

// withoutContainer returns the pod that the parts name together with a container that it
// does not have; nil if there is none.
func (q Query) withoutContainer(all []*view.Pod, parts []string) *view.Pod {
	if len(parts) < 2 || !q.Literal && isPattern(strings.Join(parts, "")) {
		return nil
	}
	r := reading{namespace: q.namespace(), pod: parts[0]}
	if len(parts) == 3 {
		r = reading{namespace: parts[0], pod: parts[1]}
	}
	if found, err := q.matchReading(all, r, equals); err == nil && len(found) == 1 {
		return found[0].pod
	}
	return nil
}

// byID returns the pod of which the UID or the id of a sandbox or container begins
// with the text, in any namespace. ID/CONTAINER names a container of it.
func byID(all []*view.Pod, word string, parts []string) ([]match, error) {
	if len(parts) > 2 || len(parts[0]) < minID {
		return nil, nil
	}
	id, container := parts[0], strings.Join(parts[1:], "")
	var found []match
	var names []string
	for _, p := range all {
		if strings.HasPrefix(string(p.UID), id) {
			found, names = append(found, match{pod: p, container: container}), append(names, p.DisplayName()+" (UID "+string(p.UID)+")")
			continue
		}
		for _, s := range p.ListedSandboxes() {
			if strings.HasPrefix(s.ID, id) {
				found, names = append(found, match{pod: p, container: container}), append(names, p.DisplayName()+" (sandbox "+pod.ShortID(s.ID)+")")
			}
		}
		for _, c := range p.ListedContainers() {
			if container == "" && strings.HasPrefix(c.ID, id) {
				m := match{pod: p, container: c.Name, exact: c}
				found, names = append(found, m), append(names, fmt.Sprintf("%s/%s (attempt %d, %s)", p.DisplayName(), c.Name, c.Attempt, pod.ShortID(c.ID)))
			}
		}
	}
	if len(found) > 1 {
		return nil, ambiguous(word, names)
	}
	return found, nil
}
func displayNames(found []match) []string {
	names := make([]string, 0, len(found))
	for _, m := range found {
		names = append(names, m.pod.CLIName())
	}
	return names
}
