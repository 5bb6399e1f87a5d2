package manifest

import (
	"fmt"
	"slices"
	"strings"
)

// An object that was read from a cluster (kubectl get pod -o yaml) has fields that
// the cluster added. Without them it is what its author wrote, and the same object
// each time that it is exported.

// clusterMeta are what a cluster adds to an object's metadata; clusterSpec what it
// adds to a pod's spec, besides the volume of its service account.
var (
	clusterMeta = []string{
		"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName",
		"generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
	}
	clusterSpec = []string{
		"enableServiceLinks", "ephemeralContainers", "nodeName", "preemptionPolicy", "schedulerName",
		"serviceAccount", "serviceAccountName", "tolerations",
	}
)

const (
	// accountVolume begins the name of the volume that the API server adds to pods
	// for their service account (plugin/pkg/admission/serviceaccount/admission.go).
	accountVolume = "kube-api-access-"
	// staticAnnotations begin the annotations that a kubelet adds to its static pods
	// and to their mirrors in the API server (pkg/kubelet/types/pod_update.go).
	staticAnnotations = "kubernetes.io/config."
)

// export is a document that was exported from a cluster, without what the cluster
// added, and the paths of that.
type export struct {
	doc     map[string]any
	dropped []string
}

// exported returns the document without what a cluster added to it; ok is false if
// it is not from a cluster, which always sets resourceVersion. It does not change
// its argument. With keepAccount, the volume of the service account stays. at learns
// which items of lists were dropped.
func exported(doc map[string]any, k *kind, keepAccount bool, at *positions) (e export, ok bool) {
	metadata, _ := doc["metadata"].(map[string]any)
	if version, _ := metadata["resourceVersion"].(string); version == "" {
		return export{}, false
	}
	e.doc = copyOf(doc)
	metadata = e.dropKeys("metadata", clusterMeta)
	if k == podKind {
		e.dropStatic(metadata)
		if spec := e.dropKeys("spec", clusterSpec); spec != nil && !keepAccount {
			e.dropAccount(spec, at)
		}
	}
	if k.name == "Job" {
		e.dropJob()
	}
	if e.doc["status"] != nil {
		delete(e.doc, "status")
		e.dropped = append(e.dropped, "status")
	}
	return e, true
}

// dropKeys removes keys of a mapping of the document, and returns the rest; nil if the
// document has no such mapping.
func (e *export) dropKeys(of string, keys []string) map[string]any {
	m, ok := e.doc[of].(map[string]any)
	if !ok {
		return nil
	}
	m = copyOf(m)
	for _, key := range keys {
		if m[key] != nil {
			delete(m, key)
			e.dropped = append(e.dropped, of+"."+key)
		}
	}
	e.doc[of] = m
	return m
}

// dropStatic removes what a kubelet noted on a static pod.
func (e *export) dropStatic(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	own := copyOf(annotations)
	for key := range annotations {
		if strings.HasPrefix(key, staticAnnotations) {
			delete(own, key)
		}
	}
	if len(own) < len(annotations) {
		metadata["annotations"] = own
		e.dropped = append(e.dropped, "metadata.annotations["+staticAnnotations+"*]")
	}
}

// dropAccount removes the volumes of service accounts and their mounts from a
// spec, which it may change at the top only.
func (e *export) dropAccount(spec map[string]any, at *positions) {
	names := map[string]bool{}
	here := path{}.field("spec")
	without(spec, "volumes", here, at, func(item any) bool {
		v, _ := item.(map[string]any)
		name, _ := v["name"].(string)
		if strings.HasPrefix(name, accountVolume) && v["projected"] != nil {
			names[name] = true
		}
		return names[name]
	})
	if len(names) == 0 {
		return
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, ok := spec[list].([]any)
		if !ok {
			continue
		}
		containers = slices.Clone(containers)
		for i, c := range containers {
			if c, ok := c.(map[string]any); ok {
				c = copyOf(c)
				without(c, "volumeMounts", here.field(list).item(i), at, func(item any) bool {
					mount, _ := item.(map[string]any)
					name, _ := mount["name"].(string)
					return names[name]
				})
				containers[i] = c
			}
		}
		spec[list] = containers
	}
	e.dropped = append(e.dropped, "the volume "+accountVolume+"*")
}

// dropJob removes the selector and the labels that the API server gave a Job
// (generateSelector in pkg/registry/batch/job/strategy.go).
func (e *export) dropJob() {
	spec, _ := e.doc["spec"].(map[string]any)
	if manual, _ := spec["manualSelector"].(bool); spec == nil || manual {
		return
	}
	spec = copyOf(spec)
	if spec["selector"] != nil {
		delete(spec, "selector")
		e.dropped = append(e.dropped, "spec.selector")
	}
	e.doc["spec"] = spec
	template, _ := spec["template"].(map[string]any)
	metadata, _ := template["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	own := copyOf(labels)
	withoutKeys(own, jobLabelKeys...)
	if len(own) == len(labels) {
		return
	}
	template, metadata = copyOf(template), copyOf(metadata)
	metadata["labels"], template["metadata"], spec["template"] = own, metadata, template
	e.dropped = append(e.dropped, "the labels of the Job in spec.template")
}

// without removes the items of a list of m, which is at a path, that match, and the
// list if none remains.
func without(m map[string]any, list string, of path, at *positions, match func(item any) bool) {
	items, ok := m[list].([]any)
	if !ok {
		return
	}
	var rest []any
	for i, item := range items {
		if match(item) {
			at.dropItem(of.field(list), i)
		} else {
			rest = append(rest, item)
		}
	}
	if len(rest) == 0 {
		delete(m, list)
		return
	}
	m[list] = rest
}

// exportedWarning says once what was dropped of all exported documents.
type exportedWarning struct {
	first   Problem
	dropped []string
	more    int
}

// unexported returns a document without what a cluster added to it, and keeps in
// mind what that was.
func (l *loader) unexported(b *builder, k *kind, doc map[string]any) map[string]any {
	if l.opts.ForCluster {
		return doc
	}
	e, ok := exported(doc, k, l.opts.ServiceAccounts != AccountsRefused, b.positions)
	if !ok {
		return doc
	}
	w := &l.exported
	if len(w.dropped) == 0 {
		w.first = b.at("metadata.resourceVersion", 0, "", "")
	} else {
		w.more++
	}
	for _, path := range e.dropped {
		if !slices.Contains(w.dropped, path) {
			w.dropped = append(w.dropped, path)
		}
	}
	return e.doc
}

func (l *loader) warnExported() {
	w := l.exported
	if len(w.dropped) == 0 {
		return
	}
	w.first.Message = "exported from a cluster"
	if w.more > 0 {
		w.first.Message += fmt.Sprintf(" (and %d more)", w.more)
	}
	w.first.Message += "; ignored: " + strings.Join(w.dropped, ", ")
	l.set.Warnings = append(l.set.Warnings, w.first)
}
