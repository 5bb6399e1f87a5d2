package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/podctl/podctl/internal/pod"
)

// field returns the value of a field of the pod (podFieldSelectorRuntimeValue in
// pkg/kubelet/kubelet_pods.go, pkg/fieldpath/fieldpath.go). podIPs are the
// pod's, primary first.
func field(p *v1.Pod, ref *v1.ObjectFieldSelector, n *Node, podIPs []string) (string, error) {
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		return "", fmt.Errorf("fieldRef has the unsupported apiVersion %q", ref.APIVersion)
	}
	if path, key, ok := subscript(ref.FieldPath); ok {
		return entry(p, path, key)
	}
	switch ref.FieldPath {
	case "metadata.name":
		return p.Name, nil
	case "metadata.namespace":
		return p.Namespace, nil
	case "metadata.uid":
		return string(p.UID), nil
	case "metadata.labels":
		return formatMap(p.Labels), nil
	case "metadata.annotations":
		return formatMap(p.Annotations), nil
	case "spec.nodeName", "spec.host":
		return n.Name, nil
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return first(n.IPs), nil
	case "status.hostIPs":
		return strings.Join(n.IPs, ","), nil
	case "status.podIP":
		return first(pod.OrderIPs(podIPs, n.IPs)), nil
	case "status.podIPs":
		return strings.Join(pod.OrderIPs(podIPs, n.IPs), ","), nil
	default:
		return "", fmt.Errorf("unsupported fieldPath %q", ref.FieldPath)
	}
}

// subscript splits path['key'].
func subscript(field string) (path, key string, ok bool) {
	inner, ok := strings.CutSuffix(field, "']")
	if !ok {
		return "", "", false
	}
	path, key, ok = strings.Cut(inner, "['")
	return path, key, ok && path != ""
}

// entry returns one label or annotation, "" where the pod has none of that key.
func entry(p *v1.Pod, path, key string) (string, error) {
	values, checked := p.Labels, key
	switch path {
	case "metadata.labels":
	case "metadata.annotations":
		values, checked = p.Annotations, strings.ToLower(key)
	default:
		return "", fmt.Errorf("fieldPath %q takes no key", path)
	}
	if problems := validation.IsQualifiedName(checked); len(problems) > 0 {
		return "", fmt.Errorf("fieldPath %q has the invalid key %q: %s", path, key, strings.Join(problems, "; "))
	}
	return values[key], nil
}

// formatMap writes key="value" lines, sorted.
func formatMap(m map[string]string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, key+"="+strconv.Quote(m[key]))
	}
	return strings.Join(lines, "\n")
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// VolumeFile returns the content of a file of a downwardAPI volume. Fewer fields
// can be had than by a variable: those that change while the pod runs, its
// addresses, are not among them (pkg/fieldpath/fieldpath.go, CollectData in
// pkg/volume/downwardapi/downwardapi.go).
func VolumeFile(p *v1.Pod, n *Node, f *v1.DownwardAPIVolumeFile) (string, error) {
	switch {
	case f.FieldRef != nil:
		_, _, keyed := subscript(f.FieldRef.FieldPath)
		if !keyed && !slices.Contains(volumeFields, f.FieldRef.FieldPath) {
			return "", fmt.Errorf("unsupported fieldPath: %v", f.FieldRef.FieldPath)
		}
		return field(p, f.FieldRef, n, nil)
	case f.ResourceFieldRef != nil:
		return volumeResource(p, f.ResourceFieldRef, n)
	}
	return "", nil
}

var volumeFields = []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}

// volumeResource returns as resourceField, but an init container without a limit
// has the node's, too.
func volumeResource(p *v1.Pod, ref *v1.ResourceFieldSelector, n *Node) (string, error) {
	c, _ := findContainer(p, ref.ContainerName)
	if c == nil {
		return "", fmt.Errorf("container %s not found", ref.ContainerName)
	}
	own := *ref
	own.ContainerName = ""
	// A limit of the pod does not count here: it does for variables only.
	alone := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{*c}}}
	return resourceField(alone, c, &own, n)
}
