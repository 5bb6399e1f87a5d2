package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// reference is a place at which a pod names an object of its namespace.
type reference struct {
	field string
	kind  string
	name  string
	// keys are those that must be there; with at they are of one field: the key of
	// keyField, or the items of the volume.
	keys     []string
	keyField string
	// optional: the pod runs without it.
	optional bool
}

const (
	refConfigMap  = "ConfigMap"
	refSecret     = "Secret"
	refClaim      = "PersistentVolumeClaim"
	refPullSecret = "pull Secret"
)

// referencesOf returns what containers of the pod cannot start without: the objects of
// their variables and of the volumes that they mount; and the pull secrets.
func referencesOf(p *v1.Pod) []reference {
	var refs []reference
	for i, s := range p.Spec.ImagePullSecrets {
		refs = append(refs, reference{field: fmt.Sprintf("spec.imagePullSecrets[%d].name", i), kind: refPullSecret, name: s.Name})
	}
	mounted := map[string]bool{}
	for c := range pod.AllContainers(p) {
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
	}
	for i := range p.Spec.Volumes {
		if v := &p.Spec.Volumes[i]; mounted[v.Name] {
			refs = append(refs, referencesOfVolume(fmt.Sprintf("spec.volumes[%d]", i), &v.VolumeSource)...)
		}
	}
	eachContainer(p, func(at string, c *v1.Container) { refs = append(refs, referencesOfContainer(at, c)...) })
	return refs
}

func referencesOfVolume(at string, v *v1.VolumeSource) []reference {
	switch {
	case v.Secret != nil:
		return []reference{{at + ".secret.secretName", refSecret, v.Secret.SecretName, itemKeys(v.Secret.Items), at + ".secret.items", isTrue(v.Secret.Optional)}}
	case v.ConfigMap != nil:
		return []reference{{at + ".configMap.name", refConfigMap, v.ConfigMap.Name, itemKeys(v.ConfigMap.Items), at + ".configMap.items", isTrue(v.ConfigMap.Optional)}}
	case v.PersistentVolumeClaim != nil:
		return []reference{{field: at + ".persistentVolumeClaim.claimName", kind: refClaim, name: v.PersistentVolumeClaim.ClaimName}}
	case v.Projected == nil:
		return nil
	}
	var refs []reference
	for i, s := range v.Projected.Sources {
		of := fmt.Sprintf("%s.projected.sources[%d]", at, i)
		if s.Secret != nil {
			refs = append(refs, reference{of + ".secret.name", refSecret, s.Secret.Name, itemKeys(s.Secret.Items), of + ".secret.items", isTrue(s.Secret.Optional)})
		}
		if s.ConfigMap != nil {
			refs = append(refs, reference{of + ".configMap.name", refConfigMap, s.ConfigMap.Name, itemKeys(s.ConfigMap.Items), of + ".configMap.items", isTrue(s.ConfigMap.Optional)})
		}
	}
	return refs
}

func referencesOfContainer(at string, c *v1.Container) []reference {
	var refs []reference
	for i, from := range c.EnvFrom {
		of := fmt.Sprintf("%s.envFrom[%d]", at, i)
		if r := from.SecretRef; r != nil {
			refs = append(refs, reference{field: of + ".secretRef.name", kind: refSecret, name: r.Name, optional: isTrue(r.Optional)})
		}
		if r := from.ConfigMapRef; r != nil {
			refs = append(refs, reference{field: of + ".configMapRef.name", kind: refConfigMap, name: r.Name, optional: isTrue(r.Optional)})
		}
	}
	for i, env := range c.Env {
		of := fmt.Sprintf("%s.env[%d].valueFrom", at, i)
		if env.ValueFrom == nil {
			continue
		}
		if r := env.ValueFrom.SecretKeyRef; r != nil {
			refs = append(refs, reference{of + ".secretKeyRef.name", refSecret, r.Name, []string{r.Key}, of + ".secretKeyRef.key", isTrue(r.Optional)})
		}
		if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
			refs = append(refs, reference{of + ".configMapKeyRef.name", refConfigMap, r.Name, []string{r.Key}, of + ".configMapKeyRef.key", isTrue(r.Optional)})
		}
	}
	return refs
}

func itemKeys(items []v1.KeyToPath) []string {
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = item.Key
	}
	return keys
}

func isTrue(b *bool) bool { return b != nil && *b }

// checkReferences reports what the pod names and nothing declares.
func (a *admission) checkReferences() {
	for _, r := range referencesOf(a.pod) {
		if r.optional || r.name == "" || a.isFull() {
			continue
		}
		name := types.NamespacedName{Namespace: a.pod.Namespace, Name: r.name}
		switch r.kind {
		case refConfigMap:
			if c := a.objects.ConfigMaps[name]; c == nil {
				a.reportUndeclared(r, didYouMeanNamespace(r.name, name.Namespace, a.objects.ConfigMaps))
			} else {
				checkKeys(a, r, c.Data, c.BinaryData)
			}
		case refSecret, refPullSecret:
			if s := a.objects.Secrets[name]; s == nil {
				a.reportUndeclared(r, didYouMeanNamespace(r.name, name.Namespace, a.objects.Secrets))
			} else {
				checkKeys(a, r, s.Data, nil)
			}
		case refClaim:
			if c := a.objects.Claims[name]; c == nil {
				a.reportUndeclared(r, didYouMeanNamespace(r.name, name.Namespace, a.objects.Claims))
			} else {
				a.checkClaim(r, c)
			}
		}
	}
}

func (a *admission) reportUndeclared(r reference, near string) {
	if r.kind == refPullSecret {
		// A kubelet pulls without it, too.
		a.report(Warn, r.field, fmt.Sprintf("Secret %q is not declared: images are pulled without it", r.name), near)
		return
	}
	if near == "" {
		near = "declare it beside the pod, or in what --config-from names"
	}
	a.report(Unresolved, r.field, fmt.Sprintf("%s %q is not declared: no container that needs it starts", r.kind, r.name), near)
}

// checkKeys reports the keys that the object of a reference, with this data, does not have.
func checkKeys[V any](a *admission, r reference, data map[string]V, binary map[string][]byte) {
	for _, key := range r.keys {
		if _, found := data[key]; found || a.isFull() {
			continue
		}
		if _, found := binary[key]; found {
			continue
		}
		hint := "it has no keys"
		if n := len(data) + len(binary); n > maxNear {
			hint = fmt.Sprintf("it has %d others", n)
		} else if n > 0 {
			known := slices.Sorted(maps.Keys(data))
			known = append(known, slices.Sorted(maps.Keys(binary))...)
			hint = "it has " + strings.Join(known[:min(n, maxNamed)], ", ")
			if near := suggest.Word(strings.ToLower(key), toLowerAll(known)); near != "" {
				hint = "did you mean " + known[slices.Index(toLowerAll(known), near)] + "?"
			}
		}
		a.report(Unresolved, r.keyField, fmt.Sprintf("%s %q has no key %q: no container that needs it starts", r.kind, r.name, key), hint)
	}
}

func toLowerAll(words []string) []string {
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	return lower
}

// checkClaim reports why the pod cannot have the volume of a claim.
func (a *admission) checkClaim(r reference, c *v1.PersistentVolumeClaim) {
	b := a.objects.Binding(c.Namespace, c.Name)
	if b.Pending != "" {
		a.report(Unresolved, r.field, fmt.Sprintf("PersistentVolumeClaim %q is not bound: %s", c.Name, b.Pending), "")
	}
	if err := b.CheckSupported(); err != nil {
		a.report(Deny, r.field, fmt.Sprintf("PersistentVolumeClaim %q: %v", c.Name, err),
			"mount it on this machine, and declare a PersistentVolume with hostPath or local of that directory")
	}
	if err := b.CheckNode(a.objects.Hostname); err != nil {
		a.report(Unresolved, r.field, fmt.Sprintf("PersistentVolumeClaim %q: %v", c.Name, err), "")
	}
}
