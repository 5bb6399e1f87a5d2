package manifest

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// setIdentity gives a pod of a StatefulSet its host name and its claims
// (pkg/controller/statefulset/stateful_set_utils.go).
func (w *workload) setIdentity(spec map[string]any, name string, i int) {
	spec["hostname"] = name
	if w.service != "" {
		spec["subdomain"] = w.service
	}
	if len(w.claims) == 0 {
		return
	}
	var volumes []any
	claimed := map[any]bool{}
	for _, c := range w.claims {
		claimed[c.Name] = true
		volumes = append(volumes, map[string]any{
			"name": c.Name, "persistentVolumeClaim": map[string]any{"claimName": w.claimName(c.Name, w.start+i)},
		})
	}
	written, _ := spec["volumes"].([]any)
	for _, v := range written {
		if m, ok := v.(map[string]any); !ok || !claimed[m["name"]] {
			volumes = append(volumes, v)
		}
	}
	spec["volumes"] = volumes
}

// identity returns the name of the i-th pod and the labels that its controller would
// set.
func (w *workload) identity(i int, hash string) (name string, labels map[string]string) {
	switch w.kind.name {
	case "Deployment":
		set := w.meta.Name + "-" + identityHash(w.kind.name, w.meta.Namespace, w.meta.Name)
		return w.generated(set, i), map[string]string{"pod-template-hash": hash}
	case "StatefulSet":
		name = fmt.Sprintf("%s-%d", w.meta.Name, w.start+i)
		return name, map[string]string{
			"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": strconv.Itoa(w.start + i),
			"controller-revision-hash": w.meta.Name + "-" + hash,
		}
	case "DaemonSet":
		return w.generated(w.meta.Name, i), map[string]string{"controller-revision-hash": hash, "pod-template-generation": "1"}
	default:
		return w.generated(w.meta.Name, i), nil
	}
}

// jobLabelKeys are the keys of jobLabels.
var jobLabelKeys = []string{batchv1.ControllerUidLabel, "controller-uid", batchv1.JobNameLabel, "job-name"}

// jobLabels returns those that the API server puts into a Job's template
// (pkg/registry/batch/job/strategy.go).
func jobLabels(name string, uid types.UID) map[string]string {
	labels := map[string]string{}
	for i, value := range []string{string(uid), string(uid), name, name} {
		labels[jobLabelKeys[i]] = value
	}
	return labels
}

// maxGenerated bounds what stands before the five characters of a generated
// name (k8s.io/apiserver/pkg/storage/names).
const maxGenerated = 63 - 5

// generated returns a name as the API server generates it for a pod of a set, but
// always the same five characters for the same pod.
func (w *workload) generated(set string, i int) string {
	return generatedName(w.kind.name, w.meta.Namespace, set, "-", i)
}

func generatedName(kind, namespace, set, infix string, i int) string {
	if infix == "-" { // which is cut with the name
		set, infix = set+infix, ""
	}
	base := set[:min(len(set), maxGenerated-len(infix))] + infix
	return base + fiveOf(kind, namespace, strings.TrimSuffix(set, "-"), strconv.Itoa(i))
}

// key identifies the workload, in every version and with any number of pods.
func (w *workload) key() string {
	return strings.Join([]string{w.kind.name, w.meta.Namespace, w.meta.Name}, "/")
}

// identityHash stands in the names of a Deployment's pods where Kubernetes has the
// hash of the template, the name of a ReplicaSet. It is the same for each version of
// the Deployment, so that a changed template replaces the pods under their names
// instead of starting others beside them.
func identityHash(kind, namespace, name string) string {
	hasher := fnv.New32a()
	_, _ = hasher.Write([]byte(strings.Join([]string{kind, namespace, name}, "\x00"))) // never fails
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}

// templateHash returns the label pod-template-hash of a Deployment's pods. It is made as Kubernetes makes it (ComputeHash in
// pkg/controller/controller_utils.go), but of the template as written:
// Kubernetes hashes its own Go struct, whose hash changes with its releases.
func templateHash(template map[string]any) string {
	metadata, _ := template["metadata"].(map[string]any)
	written := map[string]any{"labels": metadata["labels"], "annotations": metadata["annotations"], "spec": template["spec"]}
	hasher := fnv.New32a()
	_, _ = hasher.Write(marshal(written)) // never fails
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}

// nameLetters are those of generated names: no vowels, and nothing that looks
// like something else.
const nameLetters = "bcdfghjklmnpqrstvwxz2456789"

// fiveOf returns five characters like those that the API server appends to generated
// names, derived from parts.
func fiveOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	var five [5]byte
	for i := range five {
		five[i] = nameLetters[int(sum[i])%len(nameLetters)]
	}
	return string(five[:])
}
