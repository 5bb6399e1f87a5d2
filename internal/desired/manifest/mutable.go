package manifest

// A pod is the same pod as long as its manifest differs only in what the API
// server lets a running pod change, or in its status: its UID is a hash of everything else. Of two
// versions with one UID, InPlace reports whether the running pod can follow.

// mutableSpec are the fields of a pod's spec, and mutableContainer those of its
// containers, that the API server changes in a running pod, by an update or by a
// request of their own.
var (
	mutableSpec      = []string{"activeDeadlineSeconds", "tolerations", "ephemeralContainers", "schedulingGates", "resources"}
	mutableContainer = []string{"image", "resources"}
)

// revisionLabels name the revision of a workload's template. A pod of another
// revision is another pod, as under the workload's controller.
var revisionLabels = []string{
	"pod-template-hash", "controller-revision-hash", "controller-uid", "batch.kubernetes.io/controller-uid",
}

// immutable returns what of a pod's canonical document identifies the pod. It does
// not change its argument.
func immutable(doc map[string]any) map[string]any {
	own := copyOf(doc)
	delete(own, "status")
	if metadata, ok := doc["metadata"].(map[string]any); ok {
		metadata = copyOf(metadata)
		labels, _ := metadata["labels"].(map[string]any)
		withoutKeys(metadata, "labels", "annotations", "generation")
		if revision := pick(labels, revisionLabels); len(revision) > 0 {
			metadata["labels"] = revision
		}
		own["metadata"] = metadata
	}
	spec, ok := doc["spec"].(map[string]any)
	if !ok {
		return own
	}
	spec = copyOf(spec)
	withoutKeys(spec, mutableSpec...)
	for _, list := range []string{"containers", "initContainers"} {
		if containers, ok := spec[list].([]any); ok {
			spec[list] = immutableContainers(containers)
		}
	}
	own["spec"] = spec
	return own
}

func immutableContainers(list []any) []any {
	own := make([]any, len(list))
	for i, c := range list {
		own[i] = c
		if c, ok := c.(map[string]any); ok {
			c = copyOf(c)
			withoutKeys(c, mutableContainer...)
			own[i] = c
		}
	}
	return own
}

func withoutKeys(m map[string]any, keys ...string) {
	for _, key := range keys {
		delete(m, key)
	}
}

func pick(m map[string]any, keys []string) map[string]any {
	some := map[string]any{}
	for _, key := range keys {
		if value, ok := m[key]; ok {
			some[key] = value
		}
	}
	return some
}
