package secret

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Values returns the values of the Secret keys that the pod's variables refer to, each
// key once: they are as large as the Secrets, however often one is referred to.
func Values(p *v1.Pod, objects *pod.Objects) [][]byte {
	type key struct{ secret, key string } // with key "" the whole Secret
	refers := map[key]bool{}
	for c := range pod.AllContainers(p) {
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				refers[key{from.SecretRef.Name, ""}] = true
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				refers[key{env.ValueFrom.SecretKeyRef.Name, env.ValueFrom.SecretKeyRef.Key}] = true
			}
		}
	}
	var values [][]byte
	for k := range refers {
		switch s := objects.Secret(p.Namespace, k.secret); {
		case s == nil:
		case k.key == "":
			values = slices.AppendSeq(values, maps.Values(s.Data))
		default:
			values = append(values, s.Data[k.key])
		}
	}
	return values
}

// Objects returns the objects with a placeholder for each value of a Secret.
func Objects(o *pod.Objects) *pod.Objects {
	if o == nil {
		return nil
	}
	masked := *o
	masked.Secrets = make(map[types.NamespacedName]*v1.Secret, len(o.Secrets))
	for name, s := range o.Secrets {
		hidden := s.DeepCopy()
		for key := range hidden.Data {
			hidden.Data[key] = []byte(Placeholder)
		}
		masked.Secrets[name] = hidden
	}
	return &masked
}
