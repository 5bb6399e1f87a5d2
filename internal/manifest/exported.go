package manifest

import (
	"maps"
	"slices"
	"strings"
)

// A pod that was read from a cluster (kubectl get pod -o yaml) has fields that
// the cluster added. Without them it is the pod that its author wrote, and the
// same pod each time that it is exported.

// clusterMeta and clusterSpec are what a cluster adds to a pod's metadata and
// spec, besides the volume of its service account.
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

// accountVolume begins the name of the volume that the API server adds to pods
// for their service account (plugin/pkg/admission/serviceaccount/admission.go).
const accountVolume = "kube-api-access-"

// withoutCluster returns a pod document without what a cluster added to it, and
// the paths of that; the document itself and nothing if it is not from a
// cluster, which always sets resourceVersion. It does not change its argument.
func withoutCluster(doc map[string]any) (own map[string]any, dropped []string) {
	metadata, _ := doc["metadata"].(map[string]any)
	if version, _ := metadata["resourceVersion"].(string); version == "" {
		return doc, nil
	}
	own = copyOf(doc)
	drop := func(of string, keys []string) map[string]any {
		m, ok := doc[of].(map[string]any)
		if !ok {
			return nil
		}
		m = copyOf(m)
		for _, key := range keys {
			if m[key] != nil {
				delete(m, key)
				dropped = append(dropped, of+"."+key)
			}
		}
		own[of] = m
		return m
	}
	drop("metadata", clusterMeta)
	if spec := drop("spec", clusterSpec); spec != nil {
		dropped = append(dropped, dropAccount(spec)...)
	}
	if own["status"] != nil {
		delete(own, "status")
		dropped = append(dropped, "status")
	}
	return own, dropped
}

// dropAccount removes the volumes of service accounts and their mounts from a
// spec, which it may change at the top only.
func dropAccount(spec map[string]any) (dropped []string) {
	volumes, _ := spec["volumes"].([]any)
	names := map[string]bool{}
	for _, v := range volumes {
		v, _ := v.(map[string]any)
		if name, _ := v["name"].(string); strings.HasPrefix(name, accountVolume) && v["projected"] != nil {
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	without(spec, "volumes", names)
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := spec[list].([]any)
		containers = slices.Clone(containers)
		for i, c := range containers {
			if c, ok := c.(map[string]any); ok {
				c = copyOf(c)
				without(c, "volumeMounts", names)
				containers[i] = c
			}
		}
		if containers != nil {
			spec[list] = containers
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		dropped = append(dropped, "the volume "+name)
	}
	return dropped
}

// without removes the items with one of the names from a list of m, and the
// list if none remains.
func without(m map[string]any, list string, names map[string]bool) {
	items, _ := m[list].([]any)
	items = slices.DeleteFunc(slices.Clone(items), func(item any) bool {
		fields, _ := item.(map[string]any)
		name, _ := fields["name"].(string)
		return names[name]
	})
	if len(items) == 0 {
		delete(m, list)
		return
	}
	m[list] = items
}
