package pod

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Masked returns the objects with a placeholder for each value of a Secret: what
// is rendered from them shows where Secrets are used, not their values.
func (o *Objects) Masked() *Objects {
	if o == nil {
		return nil
	}
	m := *o
	m.Secrets = make(map[types.NamespacedName]*v1.Secret, len(o.Secrets))
	for name, s := range o.Secrets {
		hidden := s.DeepCopy()
		for key := range maps.Keys(s.Data) {
			hidden.Data[key] = fmt.Appendf(nil, "(secret %s, key %s: --show-secrets)", s.Name, key)
		}
		m.Secrets[name] = hidden
	}
	return &m
}
