package podsync

import (
	"encoding/json"
	"index/suffixarray"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// learn remembers the values of the Secrets that the pod's variables come
// from. What a pod once had stays masked: its containers may have started with
// it. Others use the mask of before meanwhile.
func (s *Syncer) learn(p *v1.Pod, objects *pod.Objects) {
	values := secretValues(p, objects)
	if len(values) == 0 {
		return
	}
	m := s.remember(p.UID)
	before := len(m.secrets)
	var open *suffixarray.Index
	for _, value := range values {
		v := string(value)
		if m.secrets[v] || len(v) < maskShortest || strings.TrimSpace(v) == "" {
			continue
		}
		if open == nil {
			open = suffixarray.New(manifestText(p))
		}
		if contains(open, value) {
			continue // the manifest says it openly: a name, or an image
		}
		if m.secrets == nil {
			m.secrets = map[string]bool{}
		}
		m.secrets[v] = true
	}
	if len(m.secrets) == before {
		return
	}
	built := newMask(m.secrets, open)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mask = built
}

// secretValues are the values of the Secret keys that the pod's variables
// refer to, each key once: they are as large as the Secrets, however often one is
// referred to.
func secretValues(p *v1.Pod, objects *pod.Objects) [][]byte {
	var values [][]byte
	type key struct{ secret, key string } // with key "" the whole Secret
	seen := map[key]bool{}
	first := func(k key) bool {
		was := seen[k]
		seen[k] = true
		return !was
	}
	for c := range pod.AllContainers(p) {
		for _, from := range c.EnvFrom {
			if from.SecretRef == nil || !first(key{secret: from.SecretRef.Name}) {
				continue
			}
			if s := objects.Secret(p.Namespace, from.SecretRef.Name); s != nil {
				values = slices.AppendSeq(values, maps.Values(s.Data))
			}
		}
		for _, env := range c.Env {
			if env.ValueFrom == nil || env.ValueFrom.SecretKeyRef == nil {
				continue
			}
			ref := env.ValueFrom.SecretKeyRef
			if !first(key{ref.Name, ref.Key}) {
				continue
			}
			if s := objects.Secret(p.Namespace, ref.Name); s != nil {
				values = append(values, s.Data[ref.Key])
			}
		}
	}
	return values
}

// manifestText is what the pod's manifest says.
func manifestText(p *v1.Pod) []byte {
	spec, _ := json.Marshal(&p.Spec) // the types of the API can be marshalled
	return slices.Concat([]byte(p.Namespace+"\n"+p.Name+"\n"), spec)
}

func contains(text *suffixarray.Index, part []byte) bool { return len(text.Lookup(part, 1)) > 0 }
