package target

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// Query is what a user names. The zero value is every pod.
type Query struct {
	// Namespace is that of words without one, and of the pods of a selector; ""
	// prefers default for names, and is any for patterns and a selector.
	// AllNamespaces overrides it.
	Namespace     string
	AllNamespaces bool
	// Words are [NAMESPACE/]POD[/CONTAINER], patterns of that form, or beginnings
	// of ids. A first word pod, pods or po is dropped if others follow.
	Words []string
	// Selector selects by labels of the sandbox, among the words' pods if there are
	// words; nil is any.
	Selector labels.Selector
	// Container is a name or pattern of --container.
	Container string
	// Literal disables patterns in words, for commands that terminate pods.
	Literal bool
	// Attempt is the attempt of the container; nil is the newest. Previous is the one that
	// kubectl logs --previous prints, see previous.
	Attempt  *uint32
	Previous bool
	// AllContainers selects every container of a pod rather than the default one.
	AllContainers bool
}

// Target is one container of a pod.
type Target struct {
	Pod *view.Pod
	// Container is nil if the pod has none.
	Container *pod.Container
	// DefaultedFrom are the names of the pod's other containers if this one was
	// chosen because it is the first.
	DefaultedFrom []string
}

// DisplayName returns NAMESPACE/POD/CONTAINER, without CONTAINER if there is none.
func (t Target) DisplayName() string {
	if t.Container == nil {
		return t.Pod.DisplayName()
	}
	return t.Pod.DisplayName() + "/" + t.Container.Name
}

// CLIName returns the name by which the command line selects the container.
func (t Target) CLIName() string { return t.Pod.ContainerCLIName(t.Container) }

// Names reports whether the query names anything: else it is every pod.
func (q Query) Names() bool { return len(q.Words) > 0 || q.Selector != nil }

// IsExact reports whether each pod is named by a word of its own, without a pattern.
func (q Query) IsExact() bool {
	return len(q.Words) > 0 && q.Selector == nil && !slices.ContainsFunc(q.Words, isPattern)
}

// words returns the words without a kind before them.
func (q Query) words() []string {
	if len(q.Words) > 1 && pod.IsPodKind(q.Words[0]) {
		return q.Words[1:]
	}
	return q.Words
}

// namespace returns the namespace of names without one, "" for any.
func (q Query) namespace() string {
	if q.AllNamespaces {
		return ""
	}
	return q.Namespace
}

// reading is one way to read a word. namespace and container are "" where the word
// has none.
type reading struct{ namespace, pod, container string }

// split returns the parts of a word. kubectl's POD is also written pod/POD.
func split(word string, all []*view.Pod) ([]string, error) {
	parts := strings.Split(word, "/")
	isNamespace := func(p *view.Pod) bool { return p.Namespace == parts[0] }
	if len(parts) > 1 && pod.IsPodKind(parts[0]) && !slices.ContainsFunc(all, isNamespace) {
		parts = parts[1:]
	}
	if len(parts) > 3 || slices.Contains(parts, "") {
		return nil, fmt.Errorf("%q is not [NAMESPACE/]POD[/CONTAINER]", word)
	}
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, fmt.Errorf("%q is not [NAMESPACE/]POD[/CONTAINER]", word)
		}
	}
	return parts, nil
}

// readings returns the ways to read a word's parts, the preferred one first; wantsPod
// reports whether only a pod is meant.
func (q Query) readings(parts []string, wantsPod bool) []reading {
	switch len(parts) {
	case 1:
		return []reading{{q.namespace(), parts[0], ""}}
	case 3:
		return []reading{{parts[0], parts[1], parts[2]}}
	}
	ofNamespace, ofPod := reading{parts[0], parts[1], ""}, reading{q.namespace(), parts[0], parts[1]}
	if q.namespace() != "" && !wantsPod {
		return []reading{ofPod, ofNamespace}
	}
	return []reading{ofNamespace, ofPod}
}

// isPattern reports whether a part of a word can stand for several names.
func isPattern(part string) bool { return strings.ContainsAny(part, `*?[\`) }

// matcher reports whether a part of a word matches a name; "" matches any.
type matcher func(part, name string) bool

func equals(part, name string) bool { return part == "" || part == name }

func matches(part, name string) bool {
	if equals(part, name) {
		return true
	}
	ok, err := path.Match(part, name)
	return ok && err == nil
}

// matchers returns how words match names, in order of precedence: a word that is the name of a pod
// is not a pattern for others.
func (q Query) matchers() []matcher {
	if q.Literal {
		return []matcher{equals}
	}
	return []matcher{equals, matches}
}
