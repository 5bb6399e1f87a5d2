package main

import (
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// masked are the same objects with a word for each value of a Secret. What is
// made of them shows where secrets go, and not what they are.
func masked(o *pod.Objects) *pod.Objects {
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
