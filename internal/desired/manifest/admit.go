package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// Verdict says what follows from a finding about a pod and the objects beside it.
type Verdict string

const (
	// Warn: worth knowing; the pod runs.
	Warn Verdict = "warn"
	// Unresolved: a container of the pod cannot start until an object is declared.
	Unresolved Verdict = "unresolved"
	// Deny: the API server would not admit the pod, or podctl cannot run it as it was meant.
	Deny Verdict = "deny"
)

// Finding is what an object beside a pod, or the lack of it, means for the pod.
type Finding struct {
	Problem
	Verdict Verdict
}

// Admit returns the pod as the API server's admission plugins change it, by the objects that
// lie beside it, and what there is to say. objects is a result of pod.Merge. The UID
// remains: a pod is what was written. Admit does not change its argument; a pod that is denied is
// returned as it was.
//
// The plugins are Priority, RuntimeClass and ServiceAccount (plugin/pkg/admission); pods of a static pod directory pass none of them.
func Admit(p *Pod, objects *pod.Objects) (*Pod, []Finding) {
	a := &admission{written: p, objects: objects, pod: p.Pod}
	if !pod.IsStatic(p.Pod) {
		a.applyPriorityClass()
		a.applyRuntimeClass()
		a.applyServiceAccount()
	}
	a.checkReferences()
	admitted := p
	if a.pod != p.Pod && !equality.Semantic.DeepEqual(a.pod, p.Pod) {
		admitted = a.admittedPod()
	}
	if a.denied() {
		return p, a.findings
	}
	return admitted, a.findings
}

// admission is the state of Admit for one pod.
type admission struct {
	written *Pod
	objects *pod.Objects
	// pod is the one that was written until edit copies it: an agent admits all of its
	// pods again whenever a source changes.
	pod      *v1.Pod
	findings []Finding
}

// mutableSpec returns a copy of the spec that may be changed.
func (a *admission) mutableSpec() *v1.PodSpec {
	if a.pod == a.written.Pod {
		a.pod = a.pod.DeepCopy()
	}
	return &a.pod.Spec
}

// maxFindings bounds what is said of one pod.
const maxFindings = 100

func (a *admission) report(v Verdict, at, message, hint string) {
	if a.isFull() && (v != Deny || a.denied()) {
		return
	}
	a.findings = append(a.findings, Finding{a.written.problem(at, message, hint), v})
}

// isFull reports whether nothing but the first Deny is said any more.
func (a *admission) isFull() bool { return len(a.findings) >= maxFindings }

func (a *admission) denied() bool {
	return slices.ContainsFunc(a.findings, func(f Finding) bool { return f.Verdict == Deny })
}

// applyPriorityClass gives the pod the number and the preemption policy of its class, or of the
// default class (plugin/pkg/admission/priority/admission.go). A number without a class is
// a user's own: without a cluster it is the only way to give one.
func (a *admission) applyPriorityClass() {
	spec := a.pod.Spec
	class := a.defaultPriorityClass()
	if name := spec.PriorityClassName; name != "" {
		class = a.objects.PriorityClasses[types.NamespacedName{Name: name}]
		if _, system := systemPriorities[name]; class == nil && !system && spec.Priority == nil {
			a.report(Deny, "spec.priorityClassName", fmt.Sprintf("no PriorityClass with name %s was found", name), a.classHint(name))
		}
	} else if spec.Priority != nil {
		return
	}
	if class == nil {
		return
	}
	switch policy := class.PreemptionPolicy; {
	case spec.Priority != nil && *spec.Priority != class.Value:
		a.report(Deny, "spec.priority", fmt.Sprintf("Invalid value: %d: %s has the priority %d", *spec.Priority, class.Name, class.Value), "leave it out")
	case policy != nil && spec.PreemptionPolicy != nil && *spec.PreemptionPolicy != *policy:
		a.report(Deny, "spec.preemptionPolicy", fmt.Sprintf("Invalid value: %q: %s has the policy %s", *spec.PreemptionPolicy, class.Name, *policy), "leave it out")
	default:
		own := a.mutableSpec()
		own.PriorityClassName, own.Priority = class.Name, &class.Value
		if policy != nil {
			own.PreemptionPolicy = policy
		}
	}
}

// defaultPriorityClass returns the class of pods that name none, nil without one. Of several the
// lowest counts.
func (a *admission) defaultPriorityClass() *schedulingv1.PriorityClass {
	var lowest *schedulingv1.PriorityClass
	for _, c := range a.objects.PriorityClasses {
		if c.GlobalDefault && (lowest == nil || c.Value < lowest.Value || c.Value == lowest.Value && c.Name < lowest.Name) {
			lowest = c
		}
	}
	return lowest
}

func (a *admission) classHint(name string) string {
	const declare = "declare the class beside the pod, or set spec.priority beside it"
	if len(a.objects.PriorityClasses) > maxNear {
		return declare
	}
	known := slices.Collect(maps.Keys(systemPriorities))
	for class := range a.objects.PriorityClasses {
		known = append(known, class.Name)
	}
	slices.Sort(known)
	if near := suggest.Word(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return declare + "; known are " + strings.Join(known[:min(len(known), maxNamed)], ", ")
}

// applyRuntimeClass gives the pod the overhead of its class
// (plugin/pkg/admission/runtimeclass/admission.go). A class that is not declared stands for
// the handler of its name.
func (a *admission) applyRuntimeClass() {
	name := a.pod.Spec.RuntimeClassName
	if name == nil {
		return
	}
	class := a.objects.RuntimeClasses[types.NamespacedName{Name: *name}]
	if class == nil {
		if len(a.objects.RuntimeClasses) > 0 {
			a.report(Warn, "spec.runtimeClassName", fmt.Sprintf("RuntimeClass %q is not declared: it stands for the handler of that name", *name), didYouMean(*name, "", a.objects.RuntimeClasses))
		}
		return
	}
	if class.Overhead != nil {
		if len(a.pod.Spec.Overhead) > 0 && !equality.Semantic.DeepEqual(a.pod.Spec.Overhead, class.Overhead.PodFixed) {
			a.report(Deny, "spec.overhead", fmt.Sprintf("it is not the overhead of the RuntimeClass %q", *name), "leave it out")
		} else {
			a.mutableSpec().Overhead = class.Overhead.PodFixed
		}
	}
	if s := class.Scheduling; s != nil && len(s.NodeSelector)+len(s.Tolerations) > 0 {
		a.report(Warn, "spec.runtimeClassName", fmt.Sprintf("the scheduling of RuntimeClass %q is ignored: %s", *name, noScheduler), "")
	}
}

// defaultAccount is the ServiceAccount of pods that name none.
const defaultAccount = "default"

// applyServiceAccount gives the pod the pull secrets of its ServiceAccount, if it has none
// (plugin/pkg/admission/serviceaccount/admission.go). A token is what podctl cannot give it.
func (a *admission) applyServiceAccount() {
	spec := a.pod.Spec
	name, at := spec.ServiceAccountName, "spec.serviceAccountName"
	if !a.written.isSet(at) && a.written.isSet("spec.serviceAccount") {
		at = "spec.serviceAccount"
	}
	named := name != "" && name != defaultAccount
	if !named {
		name = defaultAccount
	}
	account := a.objects.ServiceAccounts[types.NamespacedName{Namespace: a.pod.Namespace, Name: name}]
	if account != nil && len(spec.ImagePullSecrets) == 0 && len(account.ImagePullSecrets) > 0 {
		a.mutableSpec().ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	automount := spec.AutomountServiceAccountToken
	if automount == nil && account != nil {
		automount = account.AutomountServiceAccountToken
	}
	wantsToken := (automount == nil || *automount) && a.written.read.accounts == AccountsRefused
	switch {
	case named && account == nil:
		message := fmt.Sprintf("ServiceAccount %q is not declared: the pod has no pull secrets of it", name)
		if wantsToken {
			message += " and no token"
		}
		a.report(Warn, at, message, didYouMeanNamespace(name, a.pod.Namespace, a.objects.ServiceAccounts))
	case !wantsToken:
	case spec.AutomountServiceAccountToken != nil:
		a.report(Warn, "spec.automountServiceAccountToken", "no token is mounted: "+noTokenIssuer, "")
	case named:
		a.report(Warn, at, "no token is mounted: "+noTokenIssuer, "automountServiceAccountToken: false says that the pod needs none")
	}
}

// admittedPod returns the admitted pod, with a Document that has the changes.
func (a *admission) admittedPod() *Pod {
	value, err := unmarshal(a.written.Document)
	doc, ok := value.(map[string]any)
	if err != nil || !ok {
		a.report(Deny, "", fmt.Sprintf("read the pod's own document: %v", err), "")
		return a.written
	}
	a.writeChanges(doc)
	admitted := *a.written
	admitted.Document = canonical(doc)
	if admitted.Pod, err = Decode(admitted.Document); err == nil {
		err = fits(admitted.Document)
	}
	if err != nil {
		a.report(Deny, "", err.Error(), "")
		return a.written
	}
	errs, _, err := validate(admitted.Pod)
	if err != nil {
		a.report(Deny, "", err.Error(), "")
	}
	for _, e := range errs {
		a.report(Deny, e.Field, e.ErrorBody()+", with what the objects beside the pod add", "")
	}
	return &admitted
}

// writeChanges writes the changes of the plugins into the pod's document.
func (a *admission) writeChanges(doc map[string]any) {
	metadata, _ := doc["metadata"].(map[string]any)
	metadata["uid"] = string(a.written.UID)
	spec, _ := doc["spec"].(map[string]any)
	was, is := a.written.Spec, a.pod.Spec
	set := func(field string, before, after any) {
		if !equality.Semantic.DeepEqual(before, after) {
			spec[field] = toDocument(after)
		}
	}
	set("priorityClassName", was.PriorityClassName, is.PriorityClassName)
	set("priority", was.Priority, is.Priority)
	set("preemptionPolicy", was.PreemptionPolicy, is.PreemptionPolicy)
	set("overhead", was.Overhead, is.Overhead)
	set("imagePullSecrets", was.ImagePullSecrets, is.ImagePullSecrets)
}

// toDocument converts a value to the types of a parsed document.
func toDocument(v any) any {
	value, err := unmarshal(marshal(v))
	if err != nil {
		panic(err) // what marshal wrote
	}
	return value
}

// namesIn returns the names of the objects in a namespace.
func namesIn[T any](of map[types.NamespacedName]T, namespace string) []string {
	var names []string
	for key := range of {
		if key.Namespace == namespace {
			names = append(names, key.Name)
		}
	}
	slices.Sort(names)
	return names
}

const (
	// maxNear is among how many objects a near miss is sought: a manifest may have as many
	// objects as it likes, and as many names that none of them has.
	maxNear = 200
	// maxNamed bounds how many names a hint lists.
	maxNamed = 5
)

// didYouMean names an object of the namespace that has a name like it.
func didYouMean[T any](name, namespace string, of map[types.NamespacedName]T) string {
	if len(of) > maxNear {
		return ""
	}
	if near := suggest.Word(name, namesIn(of, namespace)); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// didYouMeanNamespace names an object of the name in another namespace, or one of a name
// like it.
func didYouMeanNamespace[T any](name, namespace string, of map[types.NamespacedName]T) string {
	if hint := didYouMean(name, namespace, of); hint != "" {
		return hint
	}
	var elsewhere []string
	if len(of) <= maxNear {
		for key := range of {
			if key.Name == name && key.Namespace != namespace {
				elsewhere = append(elsewhere, key.Namespace+"/"+name)
			}
		}
	}
	if len(elsewhere) == 0 {
		return ""
	}
	slices.Sort(elsewhere)
	return strings.Join(elsewhere[:min(len(elsewhere), maxNamed)], " and ") + " is declared, in another namespace than the pod's, " + namespace
}
