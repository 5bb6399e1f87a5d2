package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// workload is what matters of a Deployment, ReplicaSet, StatefulSet, DaemonSet
// or Job: how many pods, and what their controller adds to the template. The
// zero value of a field is one that the kind does not have.
type workload struct {
	kind *kind
	meta metav1.ObjectMeta
	uid  types.UID
	// replicas are those asked for, nil where a node has always one.
	replicas *int32
	// suspended: a Job that is to have no pods.
	suspended bool
	// start is the first ordinal of a StatefulSet; the others are about its
	// pods, too.
	start    int
	service  string
	claims   []v1.PersistentVolumeClaim
	selector map[string]string
	// errs and warnings are what the API server has to say.
	errs     field.ErrorList
	warnings []string
}

// workload takes one workload: its template runs as pods.
func (l *loader) workload(b *builder, k *kind, doc map[string]any) {
	clean := b.check(doc, k.t)
	w, err := k.read(marshal(resolved(clean, k)), hashUID(marshal(resolved(doc, k))))
	if err != nil {
		b.problem("", err.Error(), "")
		return
	}
	w.kind = k
	b.invalid(w.errs)
	b.warned(w.warnings)
	d := l.useAll(b, k, doc, w.meta)
	first := l.named(b, d)
	raw, cleanTemplate := templateOf(doc), templateOf(clean)
	if !first || raw == nil || cleanTemplate == nil || w.meta.Name == "" {
		return // each a problem already
	}
	at := &positions{root: b.positions.find(parsePath("spec.template")).value, index: b.positions.index}
	for i := range w.number(b, l.opts.Replicas) {
		p, err := w.pod(i, raw, cleanTemplate)
		if err != nil {
			b.problem("spec.template", err.Error(), "")
			return
		}
		p.File, p.Line, p.positions = d.File, d.Line, at
		if i == 0 {
			b.template(p)
		}
		d.Pods, l.set.Pods = append(d.Pods, p), append(l.set.Pods, p)
		l.claim(b, w, w.start+i)
	}
}

// number is how many pods run, and says so where that is not what was asked.
func (w *workload) number(b *builder, replicas int) int {
	n := max(replicas, 1)
	switch {
	case w.suspended:
		b.warning("spec.suspend", "the job is suspended: no pod runs", "")
		return 0
	case w.replicas == nil:
		return 1
	case *w.replicas == 0:
		b.warning("spec.replicas", "it asks for 0 pods: none runs", "")
		return 0
	case int(*w.replicas) != n:
		b.warning("spec.replicas", fmt.Sprintf("it asks for %s, and runs as %d", plural(int(*w.replicas), "pod"), n), fmt.Sprintf("--replicas %d", *w.replicas))
	}
	return n
}

// template checks what only a pod of the template shows.
func (b *builder) template(p *Pod) {
	moved := func(at string) string {
		if under(at, "spec") {
			return "spec.template." + at
		}
		return at
	}
	if len(b.problems) == 0 {
		errs, _, err := validate(p.Pod)
		if err != nil {
			b.problem("spec.template", err.Error(), "")
		}
		for _, e := range errs {
			b.problem(moved(e.Field), e.ErrorBody(), b.hint(e))
		}
	}
	checkRules(p.Pod, func(at, message, hint string) { b.problem(moved(at), message, hint) })
	if err := fits(p.Document); err != nil {
		b.tooLarge("spec.template", err)
	}
}

// claim makes the claims of one pod of a StatefulSet, unless there is one of
// that name: what was made by hand counts.
func (l *loader) claim(b *builder, w *workload, ordinal int) {
	if len(w.errs) > 0 {
		return // perhaps about them
	}
	for i := range w.claims {
		c := w.claims[i].DeepCopy()
		c.Name, c.Namespace = w.claimName(c.Name, ordinal), w.meta.Namespace
		c.Labels = mergedStrings(c.Labels, w.selector)
		stored, errs, err := storedClaim(c)
		if err == nil && len(errs) > 0 {
			err = errs.ToAggregate()
		}
		if err != nil {
			b.problem(fmt.Sprintf("spec.volumeClaimTemplates[%d]", i), err.Error(), "")
			continue
		}
		key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
		if l.set.Objects.Claims[key] == nil {
			l.set.Objects.Claims[key] = stored
		}
	}
}

func (w *workload) claimName(template string, ordinal int) string {
	return fmt.Sprintf("%s-%s-%d", template, w.meta.Name, ordinal)
}

// templateOf is the template of a document, nil if it has none.
func templateOf(doc map[string]any) map[string]any {
	spec, _ := doc["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	return template
}

// pod is the i-th pod: of the template as written for its document, and of
// what is valid of it for the rest.
func (w *workload) pod(i int, raw, clean map[string]any) (*Pod, error) {
	hash := templateHash(raw)
	value := w.podOf(i, hash, raw)
	document := canonical(value)
	p, err := decode(canonical(w.podOf(i, hash, clean)))
	if err != nil {
		return nil, err
	}
	if p.UID == "" {
		p.UID = hashUID(document)
	}
	return &Pod{Pod: p, Document: document, value: value}, nil
}

// podOf is the document of the i-th pod: of the template's metadata a
// controller takes labels and annotations.
func (w *workload) podOf(i int, hash string, template map[string]any) map[string]any {
	name, labels := w.identity(i, hash)
	old, _ := template["metadata"].(map[string]any)
	metadata := map[string]any{"name": name, "namespace": w.meta.Namespace}
	if annotations, ok := old["annotations"]; ok {
		metadata["annotations"] = annotations
	}
	all := map[string]any{}
	if written, ok := old["labels"].(map[string]any); ok {
		maps.Copy(all, written)
	}
	for key, value := range labels {
		all[key] = value
	}
	if len(all) > 0 {
		metadata["labels"] = all
	}
	spec, _ := template["spec"].(map[string]any)
	spec = copyOf(spec)
	if w.kind.name == "StatefulSet" {
		w.setIdentity(spec, name, i)
	}
	return map[string]any{"metadata": metadata, "spec": spec}
}

// setIdentity gives a pod of a StatefulSet its host name and its claims
// (pkg/controller/statefulset/stateful_set_utils.go).
func (w *workload) setIdentity(spec map[string]any, name string, i int) {
	spec["hostname"] = name
	if w.service != "" {
		spec["subdomain"] = w.service
	}
	if len(w.claims) == 0 {
		return
	}
	var volumes []any
	claimed := map[any]bool{}
	for _, c := range w.claims {
		claimed[c.Name] = true
		volumes = append(volumes, map[string]any{
			"name": c.Name, "persistentVolumeClaim": map[string]any{"claimName": w.claimName(c.Name, w.start+i)},
		})
	}
	written, _ := spec["volumes"].([]any)
	for _, v := range written {
		if m, ok := v.(map[string]any); !ok || !claimed[m["name"]] {
			volumes = append(volumes, v)
		}
	}
	spec["volumes"] = volumes
}

// identity is the name of the i-th pod and the labels that its controller
// gives it.
func (w *workload) identity(i int, hash string) (name string, labels map[string]string) {
	switch w.kind.name {
	case "Deployment":
		set := w.meta.Name + "-" + hash
		return w.generated(set, i), map[string]string{"pod-template-hash": hash}
	case "StatefulSet":
		name = fmt.Sprintf("%s-%d", w.meta.Name, w.start+i)
		return name, map[string]string{
			"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": strconv.Itoa(w.start + i),
			"controller-revision-hash": w.meta.Name + "-" + hash,
		}
	case "DaemonSet":
		return w.generated(w.meta.Name, i), map[string]string{"controller-revision-hash": hash, "pod-template-generation": "1"}
	case "Job":
		return w.generated(w.meta.Name, i), jobLabels(w.meta.Name, w.uid)
	default:
		return w.generated(w.meta.Name, i), nil
	}
}

// jobLabels are those that the API server puts into a Job's template
// (pkg/registry/batch/job/strategy.go).
func jobLabels(name string, uid types.UID) map[string]string {
	return map[string]string{
		batchv1.ControllerUidLabel: string(uid), "controller-uid": string(uid), batchv1.JobNameLabel: name, "job-name": name,
	}
}

// maxGenerated bounds what stands before the five characters of a generated
// name (k8s.io/apiserver/pkg/storage/names).
const maxGenerated = 63 - 5

// generated is a name as the API server generates it for a pod of a set, but
// always the same five characters for the same pod.
func (w *workload) generated(set string, i int) string {
	base := set + "-"
	return base[:min(len(base), maxGenerated)] + fiveOf(w.kind.name, w.meta.Namespace, set, strconv.Itoa(i))
}

func mergedStrings(maps ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range maps {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}

// noControllers is the reason of what a workload sets in vain.
const noControllers = "there are no controllers here"

// powerless says in one warning what of a workload has no effect.
func (b *builder) powerless(uses []Use) {
	var names []string
	for _, u := range uses {
		if !slices.Contains(names, u.Path) {
			names = append(names, u.Path)
		}
	}
	if len(names) == 0 {
		return
	}
	message := "ignored"
	if len(names) > 1 {
		message += ", with " + strings.Join(names[1:], ", ")
	}
	b.warnings = append(b.warnings, b.at(uses[0].Path, uses[0].Line, message+": "+noControllers, ""))
}
