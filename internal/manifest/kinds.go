package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listDocument is what List and PodList look like from outside.
type listDocument struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []json.RawMessage `json:"items"`
}

var listType = reflect.TypeFor[listDocument]()

// document takes one document: a pod, a list of documents, or a problem.
func (l *loader) document(file string, value any, at *positions) {
	fail := func(field, message, hint string) {
		l.problems = append(l.problems, Problem{File: file, Line: at.find(parsePath(field)).line, Field: field, Message: message, Hint: hint})
	}
	doc, ok := value.(map[string]any)
	if !ok {
		fail("", "a document must be a mapping, and this is "+describe(value), "")
		return
	}
	version, _ := doc["apiVersion"].(string)
	kind, _ := doc["kind"].(string)
	switch {
	case version == "" || kind == "":
		if version == "" {
			fail("apiVersion", "Required value", "write apiVersion: v1")
		}
		if kind == "" {
			fail("kind", "Required value", "write kind: Pod")
		}
	case version == "v1" && kind == "Pod":
		l.pod(file, doc, at)
	case version == "v1" && (kind == "List" || kind == "PodList"):
		l.list(file, doc, at, kind)
	case version == "v1" && kind == "ConfigMap", version == "v1" && kind == "Secret", version == "v1" && kind == "PersistentVolumeClaim",
		version == "apps/v1", version == "batch/v1":
		fail("kind", fmt.Sprintf("%s (%s) is not supported yet", kind, version), "podctl reads Pod, PodList and List; leave the "+kind+" out")
	case kind == "Pod" || kind == "PodList" || kind == "List":
		fail("apiVersion", fmt.Sprintf("Invalid value: %q: a %s is of v1", version, kind), "write apiVersion: v1")
	default:
		hint := "podctl reads Pod, PodList and List; other kinds need a control plane"
		if distance(kind, "Pod") == 1 || distance(kind, "PodList") <= 2 {
			hint = "podctl reads Pod, PodList and List"
		}
		fail("kind", fmt.Sprintf("%s (%s) is not a kind that podctl runs", kind, version), hint)
	}
}

// list takes the items of a list; each has its own positions. Those of a
// PodList need not say that they are pods.
func (l *loader) list(file string, doc map[string]any, at *positions, kind string) {
	problem := func(p path, line int, message, hint string) {
		line = cmp.Or(line, at.find(p).line)
		l.problems = append(l.problems, Problem{File: file, Line: line, Field: p.String(), Message: message, Hint: hint})
	}
	if _, ok := newChecker(at, problem, problem).check(doc, listType, []level{{t: listType}}); !ok {
		return
	}
	items, _ := doc["items"].([]any)
	for i, item := range items {
		if item == nil {
			continue
		}
		inner := &positions{root: at.root, index: at.index}
		if here := at.find(path{}.field("items").item(i)); here.value != nil {
			inner.root = deref(here.value)
		}
		if m, ok := item.(map[string]any); ok && kind == "PodList" {
			if m["kind"] == nil {
				m["kind"] = "Pod"
			}
			if m["apiVersion"] == nil {
				m["apiVersion"] = "v1"
			}
		}
		l.document(file, item, inner)
	}
}
