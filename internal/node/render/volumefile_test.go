package render

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestDownwardAPIFiles(t *testing.T) {
	p := aPod(func(p *v1.Pod) {
		p.Labels = map[string]string{"b": "2", "a": "1"}
		p.Annotations = map[string]string{"note": "v"}
		p.Spec.InitContainers = []v1.Container{{Name: "i"}}
		p.Spec.Containers[0].Resources.Limits = quantities("memory", "64Mi")
		p.Spec.Resources = &v1.ResourceRequirements{Limits: quantities("cpu", "1")}
	})
	field := func(path string) v1.DownwardAPIVolumeFile {
		return v1.DownwardAPIVolumeFile{FieldRef: &v1.ObjectFieldSelector{FieldPath: path}}
	}
	amount := func(container, name, divisor string) v1.DownwardAPIVolumeFile {
		ref := &v1.ResourceFieldSelector{ContainerName: container, Resource: name}
		if divisor != "" {
			ref.Divisor = resource.MustParse(divisor)
		}
		return v1.DownwardAPIVolumeFile{ResourceFieldRef: ref}
	}
	tests := []struct {
		name      string
		file      v1.DownwardAPIVolumeFile
		want, err string
	}{
		{name: "name", file: field("metadata.name"), want: "web"},
		{name: "namespace", file: field("metadata.namespace"), want: "shop"},
		{name: "uid", file: field("metadata.uid"), want: "u1"},
		{name: "labels", file: field("metadata.labels"), want: "a=\"1\"\nb=\"2\""},
		{name: "a label", file: field("metadata.labels['b']"), want: "2"},
		{name: "an annotation", file: field("metadata.annotations['note']"), want: "v"},
		{name: "a variable's field", file: field("status.podIP"), err: "unsupported fieldPath: status.podIP"},
		{name: "a limit", file: amount("c", "limits.memory", "1Mi"), want: "64"},
		{name: "no limit is the node's, not the pod's", file: amount("c", "limits.cpu", ""), want: "2"},
		{name: "an init container's, too", file: amount("i", "limits.memory", "1Mi"), want: "900"},
		{name: "no request", file: amount("c", "requests.cpu", ""), want: "0"},
		{name: "no such container", file: amount("x", "limits.cpu", ""), err: "container x not found"},
	}
	for _, tt := range tests {
		got, err := VolumeFile(p, aNode(), &tt.file)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		diff(t, tt.name, tt.want, got)
	}
}
