package render

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

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
