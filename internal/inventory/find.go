package inventory

import (
	"fmt"
	"path"
	"strings"

	"github.com/podctl/podctl/internal/pod"
)

// minID is the number of characters from which on a name may be the beginning
// of a UID or of a sandbox id.
const minID = 8

// Find returns the pod that a user names: NAME in the namespace, NAMESPACE/NAME,
// or the unique beginning of a UID or sandbox id. Of several pods of one name it
// is the one that a podctl process manages, else one that runs. The error is a
// *NotFoundError or an *AmbiguousError.
func Find(all []*Pod, name, namespace string) (*Pod, error) {
	given := name
	if before, after, ok := strings.Cut(name, "/"); ok {
		namespace, name = before, after
	}
	var found *Pod
	elsewhere := ""
	for _, p := range all {
		if p.Name != name {
			continue
		}
		if p.Namespace != namespace {
			elsewhere = p.DisplayName()
			continue
		}
		if found == nil || p.Managed() || !found.Managed() && p.Runtime != nil && p.Runtime.Running() {
			found = p
		}
	}
	if found != nil {
		return found, nil
	}
	byID := withID(all, given)
	switch len(byID) {
	case 0:
		return nil, &NotFoundError{Name: pod.DisplayName(namespace, name), Elsewhere: elsewhere}
	case 1:
		return byID[0], nil
	}
	return nil, &AmbiguousError{ID: given, Pods: []string{byID[0].DisplayName(), byID[1].DisplayName()}}
}

// withID returns the pods of which the UID or the id of a sandbox begins with
// the text.
func withID(all []*Pod, text string) []*Pod {
	if len(text) < minID {
		return nil
	}
	var found []*Pod
	for _, p := range all {
		if p.hasID(text) {
			found = append(found, p)
		}
	}
	return found
}

func (p *Pod) hasID(text string) bool {
	if strings.HasPrefix(string(p.UID), text) {
		return true
	}
	if p.Runtime == nil {
		return false
	}
	for _, s := range p.Runtime.Sandboxes {
		if strings.HasPrefix(s.ID, text) {
			return true
		}
	}
	return false
}

// Matches reports whether a pattern with * and ? matches the pod's name, with
// its namespace if the pattern has one.
func (p *Pod) Matches(pattern string) bool {
	name := p.Name
	if strings.Contains(pattern, "/") {
		name = p.Namespace + "/" + p.Name
	}
	match, err := path.Match(pattern, name)
	return match && err == nil
}

// NotFoundError: no pod has the name.
type NotFoundError struct {
	// Name is the pod's NAMESPACE/NAME; Elsewhere is that of a pod of the name in
	// another namespace, "" if there is none.
	Name, Elsewhere string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("pod %s not found", e.Name) }

// Hint names the pod in the other namespace, or the command that lists pods.
func (e *NotFoundError) Hint() string {
	if e.Elsewhere != "" {
		return "there is " + e.Elsewhere
	}
	return "podctl pods lists all pods"
}

// AmbiguousError: an id is the beginning of several.
type AmbiguousError struct {
	ID   string
	Pods []string // two of them
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("id %q is ambiguous: %s", e.ID, strings.Join(e.Pods, ", "))
}
