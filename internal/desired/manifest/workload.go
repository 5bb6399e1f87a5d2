package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podctl/podctl/internal/sys/plural"
)

// workload is what matters of a Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet
// Job or CronJob: how many pods, and what their controller adds to the template. The
// zero value of a field is one that the kind does not have.
type workload struct {
	kind *kind
	meta metav1.ObjectMeta
	// replicas are those asked for, nil where a node has always one.
	replicas *int32
	// job is what a Job or CronJob asks for: its pods are made when they are due, and the template
	// stands for them.
	job *Job
	// ordered: a StatefulSet starts each pod once the one before it is ready.
	ordered bool
	// rolling is the field by which a controller would replace the pods one after the other; ""
	// if it would not.
	rolling string
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
	w, err := k.read(marshal(resolved(clean, k)), workloadUID(k, doc))
	if err != nil {
		b.problem("", err.Error(), "")
		return
	}
	w.kind = k
	b.invalid(w.errs)
	b.warned(w.warnings)
	d := l.useAll(b, k, doc, w.meta)
	first := l.named(b, d)
	raw, cleanTemplate := templateOf(doc, k.name), templateOf(clean, k.name)
	if !first || raw == nil || cleanTemplate == nil || w.meta.Name == "" {
		return // each a problem already
	}
	if w.job != nil && w.job.Cron != nil {
		d.Schedule = w.job.Cron.Schedule
	}
	at := b.positions.below(b.positions.find(parsePath(templatePath(k.name))).value)
	for i := range w.number(b, l.opts.Replicas) {
		p, err := w.pod(i, raw, cleanTemplate)
		if err != nil {
			b.problem(templatePath(k.name), err.Error(), "")
			return
		}
		p.File, p.Line, p.positions, p.read = d.File, d.Line, at, l.opts.readFor()
		p.workloadKind, p.workloadName, p.Job = k.name, w.meta.Name, w.job
		if i == 0 {
			b.template(p, l.opts.ForCluster)
		}
		l.set.Pods = append(l.set.Pods, p)
		if w.job == nil || w.job.Cron == nil && !w.job.isSuspended() {
			d.Pods = append(d.Pods, p)
		}
		l.addClaim(b, w, w.start+i)
	}
}

// number returns how many pods run, and says so where that is not what was asked.
func (w *workload) number(b *builder, replicas int) int {
	n := max(replicas, 1)
	switch {
	case w.job != nil && w.job.isSuspended():
		b.warning("spec.suspend", "it is suspended: no pod runs", "")
		return 1
	case w.replicas == nil:
		return 1
	case *w.replicas == 0:
		b.warning("spec.replicas", "it asks for 0 pods: none runs", "")
		return 0
	case int(*w.replicas) != n:
		b.warning("spec.replicas", fmt.Sprintf("it asks for %s, and runs as %d", plural.Of(int(*w.replicas), "pod"), n), fmt.Sprintf("--replicas %d", *w.replicas))
	}
	if w.ordered && n > 1 {
		b.warning("spec.replicas", fmt.Sprintf("its %d pods start at once, not each once the one before it is ready", n),
			"wait for the one before in an init container; podManagementPolicy: Parallel says that the order does not matter")
	}
	if w.rolling != "" && n > 1 {
		hint := ""
		if w.kind.name == "Deployment" {
			hint = "strategy: {type: Recreate} says that they may be"
		}
		b.warning(w.rolling, fmt.Sprintf("its %d pods are replaced all at once when the template changes, not one after the other", n), hint)
	}
	return n
}

// template checks what only a pod of the template shows.
func (b *builder) template(p *Pod, elsewhere bool) {
	moved := func(at string) string {
		if under(at, "spec") {
			return templatePath(b.kind) + "." + at
		}
		return at
	}
	if len(b.problems) == 0 {
		errs, _, err := validate(p.Pod)
		if err != nil {
			b.problem(templatePath(b.kind), err.Error(), "")
		}
		for _, e := range errs {
			e.Field = moved(e.Field)
		}
		b.invalid(errs)
	}
	checkRules(p.Pod, func(at, message, hint string) { b.problem(moved(at), message, hint) })
	warnRules(p.Pod, "podctl condition POD %s=True", func(at, message, hint string) { b.warning(moved(at), message, hint) })
	if !elsewhere {
		checkFreeValues(p.Pod, func(at, message, hint string) { b.problem(moved(at), message, hint) },
			func(at, message, hint string) { b.warning(moved(at), message, hint) })
	}
	if err := fits(p.Document); err != nil {
		b.tooLarge(templatePath(b.kind), err)
	}
}

// addClaim makes the claims of one pod of a StatefulSet, unless there is one of
// that name: what was made by hand counts.
func (l *loader) addClaim(b *builder, w *workload, ordinal int) {
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

// templatePath returns where documents of a kind of workload have their template.
func templatePath(kind string) string {
	if kind == cronJob {
		return "spec.jobTemplate.spec.template"
	}
	return "spec.template"
}

// templateOf returns the template of a document, nil if it has none.
func templateOf(doc map[string]any, kind string) map[string]any {
	for key := range strings.SplitSeq(templatePath(kind), ".") {
		doc, _ = doc[key].(map[string]any)
	}
	return doc
}

// pod returns the i-th pod: of the template as written for its document, and of
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
		p.UID = podUID(value)
	}
	return &Pod{Pod: p, Document: document, Workload: w.key(), value: value}, nil
}

// podOf returns the document of the i-th pod: of the template's metadata a
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
	doc := map[string]any{"metadata": metadata, "spec": spec}
	if w.job == nil {
		return doc
	}
	own, _ := toDocument(doc).(map[string]any) // of which the containers change
	stampJob(own, w.job.firstPod())
	return own
}

// mergedStrings returns all entries of all maps; the later ones win.
func mergedStrings(each ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range each {
		maps.Copy(all, m)
	}
	return all
}

// noControllers is the reason why a field of a workload has no effect.
const noControllers = "there are no controllers here"

// warnNoEffect says in one warning what of a workload has no effect.
func (b *builder) warnNoEffect(uses []Use) {
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
