package pod

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
)

// Refs are the names of the objects that a pod refers to, all in its
// namespace. The zero value has none.
type Refs struct {
	ConfigMaps, Secrets, Claims map[string]bool
}

// RefsOf returns all that the pod's volumes, variables and pulls refer to, whether
// optional or not (VisitPodSecretNames and VisitPodConfigmapNames in
// pkg/api/v1/pod/util.go).
func RefsOf(p *v1.Pod) Refs {
	r := Refs{ConfigMaps: map[string]bool{}, Secrets: map[string]bool{}, Claims: map[string]bool{}}
	for _, s := range p.Spec.ImagePullSecrets {
		r.Secrets[s.Name] = true
	}
	for i := range p.Spec.Volumes {
		r.volume(&p.Spec.Volumes[i].VolumeSource)
		if p.Spec.Volumes[i].Ephemeral != nil {
			r.Claims[ephemeral.VolumeClaimName(p, &p.Spec.Volumes[i])] = true
		}
	}
	for c := range Containers(p) {
		r.variables(c)
	}
	return r
}

func (r Refs) volume(v *v1.VolumeSource) {
	switch {
	case v.ConfigMap != nil:
		r.ConfigMaps[v.ConfigMap.Name] = true
	case v.Secret != nil:
		r.Secrets[v.Secret.SecretName] = true
	case v.PersistentVolumeClaim != nil:
		r.Claims[v.PersistentVolumeClaim.ClaimName] = true
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ConfigMap != nil {
				r.ConfigMaps[s.ConfigMap.Name] = true
			}
			if s.Secret != nil {
				r.Secrets[s.Secret.Name] = true
			}
		}
	}
}

func (r Refs) variables(c *v1.Container) {
	for _, from := range c.EnvFrom {
		if from.ConfigMapRef != nil {
			r.ConfigMaps[from.ConfigMapRef.Name] = true
		}
		if from.SecretRef != nil {
			r.Secrets[from.SecretRef.Name] = true
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom == nil {
			continue
		}
		if ref := env.ValueFrom.ConfigMapKeyRef; ref != nil {
			r.ConfigMaps[ref.Name] = true
		}
		if ref := env.ValueFrom.SecretKeyRef; ref != nil {
			r.Secrets[ref.Name] = true
		}
	}
}
