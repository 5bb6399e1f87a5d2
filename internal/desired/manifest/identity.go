package manifest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// canonical returns a pod's document: what was read, with the kind and the
// namespace filled in. It does not change its argument.
func canonical(value map[string]any) []byte { return marshal(resolved(value, podKind)) }

// resolved returns a document with its kind and the namespace, if it has one, filled in.
func resolved(value map[string]any, k *kind) map[string]any {
	doc := copyOf(value)
	doc["apiVersion"], doc["kind"] = k.version, k.name
	metadata, ok := doc["metadata"].(map[string]any)
	if !ok && doc["metadata"] != nil {
		return doc // of a wrong type, which is a problem already
	}
	metadata = copyOf(metadata)
	if !k.clusterWide && (metadata["namespace"] == nil || metadata["namespace"] == "") {
		metadata["namespace"] = metav1.NamespaceDefault
	}
	doc["metadata"] = metadata
	return doc
}

func copyOf(m map[string]any) map[string]any {
	c := make(map[string]any, len(m)+1)
	maps.Copy(c, m)
	return c
}

// Stored returns the pod of an annotation that Compress made, and its document, as
// Decode does, but without a status.
func Stored(annotation string) (p *v1.Pod, document []byte, err error) {
	if document, err = Decompress(annotation); err != nil {
		return nil, nil, err
	}
	if p, err = Decode(document); err == nil {
		p.Status.Conditions = nil // they were written before the pod ran
	}
	return p, document, err
}

// Decode makes the pod of a Pod.Document again, defaulted and with its UID,
// as Load made it: what was adopted from a runtime is desired in this form.
// It does not validate and passes over fields that it does not know, so that
// a pod survives a change of podctl in either direction.
func Decode(document []byte) (*v1.Pod, error) {
	value, err := unmarshal(document)
	if err != nil {
		return nil, fmt.Errorf("decode pod document: %w", err)
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decode pod document: it is %s, not a mapping", describe(value))
	}
	p, err := decode(canonical(doc))
	if err != nil {
		return nil, fmt.Errorf("decode pod document: %w", err)
	}
	if p.UID == "" {
		p.UID = podUID(doc)
	}
	return p, nil
}

// decode makes a defaulted pod of canonical JSON. Its UID is the one written,
// or empty.
func decode(document []byte) (*v1.Pod, error) {
	p := &v1.Pod{}
	if err := json.Unmarshal(document, p); err != nil {
		return nil, err
	}
	forgetServerFields(p)
	setPriority(p)
	return withDefaults(p)
}

// forgetServerFields clears what only an API server writes, as the API server
// does at creation, but for conditions that others set. A deletion timestamp above all: it
// would terminate the pod.
func forgetServerFields(p *v1.Pod) {
	forgetServerMeta(&p.ObjectMeta)
	conditions := slices.DeleteFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return pod.CheckCondition(c) != nil })
	p.Status = v1.PodStatus{Phase: v1.PodPending, Conditions: conditions}
}

func forgetServerMeta(m *metav1.ObjectMeta) {
	m.ResourceVersion, m.ManagedFields = "", nil
	m.SelfLink = "" //nolint:staticcheck // deprecated, and still in manifests that were read from a cluster
	m.CreationTimestamp, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = metav1.Time{}, nil, nil
}

// podUID returns the UID of a pod whose document names none. It must never change for
// a given document: a pod with another UID is another pod, and would replace the
// one that runs.
func podUID(doc map[string]any) types.UID {
	return hashUID(marshal(immutable(resolved(doc, podKind))))
}

// Identity returns a text that is the same for two versions of a Pod.Document which differ
// in nothing but what can change in a pod. It is "" for what is no document.
func Identity(document []byte) string {
	value, _ := unmarshal(document)
	doc, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	return string(podUID(doc))
}

// WithoutStatus returns a Pod.Document without its status.
func WithoutStatus(document []byte) []byte {
	if !bytes.Contains(document, []byte(`"status":`)) {
		return document
	}
	value, _ := unmarshal(document)
	doc, ok := value.(map[string]any)
	if !ok || doc["status"] == nil {
		return document
	}
	delete(doc, "status")
	return marshal(doc)
}

// hashUID returns a UID made of bytes, in the form of a UUID of version 8 (RFC 9562).
func hashUID(document []byte) types.UID {
	sum := sha256.Sum256(document)
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// safeUID: a UID is part of paths, of cgroup names and of systemd unit names,
// where only letters, digits and dashes mean themselves.
var safeUID = lazyregexp.New(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)
