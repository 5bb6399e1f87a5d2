package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

func TestRefsListAllObjects(t *testing.T) {
	local := func(name string) v1.LocalObjectReference { return v1.LocalObjectReference{Name: name} }
	p := &v1.Pod{Spec: v1.PodSpec{
		ImagePullSecrets: []v1.LocalObjectReference{local("pull")},
		Volumes: []v1.Volume{
			{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: local("c1")}}},
			{VolumeSource: v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "s1"}}},
			{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "p1"}}},
			{VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
				{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local("c2")}},
				{Secret: &v1.SecretProjection{LocalObjectReference: local("s2")}},
				{DownwardAPI: &v1.DownwardAPIProjection{}},
			}}}},
			{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		},
		InitContainers: []v1.Container{{EnvFrom: []v1.EnvFromSource{
			{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: local("c3")}},
			{SecretRef: &v1.SecretEnvSource{LocalObjectReference: local("s3")}},
		}}},
		Containers: []v1.Container{{Env: []v1.EnvVar{
			{Name: "PLAIN"},
			{ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: local("c4")}}},
			{ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{LocalObjectReference: local("s4")}}},
		}}},
	}}
	want := Refs{
		ConfigMaps: map[string]bool{"c1": true, "c2": true, "c3": true, "c4": true},
		Secrets:    map[string]bool{"pull": true, "s1": true, "s2": true, "s3": true, "s4": true},
		Claims:     map[string]bool{"p1": true},
	}
	if d := cmp.Diff(want, RefsOf(p)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
