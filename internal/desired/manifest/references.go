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
	at   string
	kind string
	name string
	// keys are those that must be there; with at they are of one field: the key of
	// keyAt, or the items of the volume.
	keys  []string
	keyAt string
	// optional: the pod runs without it.
	optional bool
}

const (
	refConfigMap = "ConfigMap"
	refSecret    = "Secret"
	refClaim     = "PersistentVolumeClaim"
	refPull      = "pull Secret"
)

// referencesOf returns what containers of the pod cannot start without: the objects of
// their variables and of the volumes that they mount; and the pull secrets.
func referencesOf(p *v1.Pod) []reference {
	var refs []reference
	for i, s := range p.Spec.ImagePullSecrets {
		refs = append(refs, reference{at: fmt.Sprintf("spec.imagePullSecrets[%d].name", i), kind: refPull, name: s.Name})
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
	each := func(list string, i int, c *v1.Container) {
		refs = append(refs, referencesOfContainer(fmt.Sprintf("spec.%s[%d]", list, i), c)...)
	}
	for i := range p.Spec.InitContainers {
		each("initContainers", i, &p.Spec.InitContainers[i])
	}
	for i := range p.Spec.Containers {
		each("containers", i, &p.Spec.Containers[i])
	}
	for i := range p.Spec.EphemeralContainers {
		c := v1.Container(p.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		each("ephemeralContainers", i, &c)
	}
	return refs
}

func referencesOfVolume(at string, v *v1.VolumeSource) []reference {
	switch {
	case v.Secret != nil:
		return []reference{{at + ".secret.secretName", refSecret, v.Secret.SecretName, itemKeys(v.Secret.Items), at + ".secret.items", isTrue(v.Secret.Optional)}}
	case v.ConfigMap != nil:
		return []reference{{at + ".configMap.name", refConfigMap, v.ConfigMap.Name, itemKeys(v.ConfigMap.Items), at + ".configMap.items", isTrue(v.ConfigMap.Optional)}}
	case v.PersistentVolumeClaim != nil:
		return []reference{{at: at + ".persistentVolumeClaim.claimName", kind: refClaim, name: v.PersistentVolumeClaim.ClaimName}}
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
			refs = append(refs, reference{at: of + ".secretRef.name", kind: refSecret, name: r.Name, optional: isTrue(r.Optional)})
		}
		if r := from.ConfigMapRef; r != nil {
			refs = append(refs, reference{at: of + ".configMapRef.name", kind: refConfigMap, name: r.Name, optional: isTrue(r.Optional)})
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

// references reports what the pod names and nothing declares.
func (a *admission) references() {
	for _, r := range referencesOf(a.pod) {
		if r.optional || r.name == "" || a.isFull() {
			continue
		}
		name := types.NamespacedName{Namespace: a.pod.Namespace, Name: r.name}
		switch r.kind {
		case refConfigMap:
			if c := a.objects.ConfigMaps[name]; c == nil {
				a.undeclared(r, didYouMeanElsewhere(r.name, name.Namespace, a.objects.ConfigMaps))
			} else {
				keys(a, r, c.Data, c.BinaryData)
			}
		case refSecret, refPull:
			if s := a.objects.Secrets[name]; s == nil {
				a.undeclared(r, didYouMeanElsewhere(r.name, name.Namespace, a.objects.Secrets))
			} else {
				keys(a, r, s.Data, nil)
			}
		case refClaim:
			if c := a.objects.Claims[name]; c == nil {
				a.undeclared(r, didYouMeanElsewhere(r.name, name.Namespace, a.objects.Claims))
			} else {
				a.claim(r, c)
			}
		}
	}
}

func (a *admission) undeclared(r reference, near string) {
	if r.kind == refPull {
		// A kubelet pulls without it, too.
		a.report(Warn, r.at, fmt.Sprintf("Secret %q is not declared: images are pulled without it", r.name), near)
		return
	}
	if near == "" {
		near = "declare it beside the pod, or in what --config-from names"
	}
	a.report(Unresolved, r.at, fmt.Sprintf("%s %q is not declared: no container that needs it starts", r.kind, r.name), near)
}

// keys reports the keys that the object of a reference, with this data, does not have.
func keys[V any](a *admission, r reference, data map[string]V, binary map[string][]byte) {
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
			if near := suggest.Word(strings.ToLower(key), lowered(known)); near != "" {
				hint = "did you mean " + known[slices.Index(lowered(known), near)] + "?"
			}
		}
		a.report(Unresolved, r.keyAt, fmt.Sprintf("%s %q has no key %q: no container that needs it starts", r.kind, r.name, key), hint)
	}
}

func lowered(words []string) []string {
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = strings.ToLower(w)
	}
	return lower
}

// claim reports why the pod cannot have the volume of a claim.
func (a *admission) claim(r reference, c *v1.PersistentVolumeClaim) {
	for _, l := range a.objects.LimitRangesOf(c.Namespace) {
		for _, item := range l.Spec.Limits {
			if item.Type == v1.LimitTypePersistentVolumeClaim {
				a.denyAll(r.at, l.Name, item.Type, claimOutside(item, c))
			}
		}
	}
	b := a.objects.Binding(c.Namespace, c.Name)
	if b.Pending != "" {
		a.report(Unresolved, r.at, fmt.Sprintf("PersistentVolumeClaim %q is not bound: %s", c.Name, b.Pending), "")
	}
	if err := b.CheckSupported(); err != nil {
		a.report(Deny, r.at, fmt.Sprintf("PersistentVolumeClaim %q: %v", c.Name, err),
			"mount it on this machine, and declare a PersistentVolume with hostPath or local of that directory")
	}
	if err := b.CheckNode(a.objects.Hostname); err != nil {
		a.report(Unresolved, r.at, fmt.Sprintf("PersistentVolumeClaim %q: %v", c.Name, err), "")
	}
}
