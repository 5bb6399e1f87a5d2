package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// aPod is a pod "p" of the namespace ns with these fields of its spec.
func aPod(spec string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ns}\nspec:\n  containers: [{name: c, image: x}]\n" + spec
}

// applied prints what admission can change of a pod.
func applied(p *v1.Pod) string {
	var words []string
	add := func(set bool, format string, args ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(p.Spec.PriorityClassName != "", "class=%s", p.Spec.PriorityClassName)
	if p.Spec.Priority != nil {
		add(true, "priority=%d", *p.Spec.Priority)
	}
	if p.Spec.PreemptionPolicy != nil {
		add(true, "preempts=%s", *p.Spec.PreemptionPolicy)
	}
	add(len(p.Spec.Overhead) > 0, "overhead=%s", resourcesText(p.Spec.Overhead))
	for _, s := range p.Spec.ImagePullSecrets {
		add(true, "pull=%s", s.Name)
	}
	return strings.Join(words, " ")
}

func resourcesText(list v1.ResourceList) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		words = append(words, string(name)+":"+quantity.String())
	}
	return strings.Join(words, ",")
}

// What the objects beside a pod make of it does not depend on their order, on the files in
// which they are, or on when those are read.
func TestAdmission(t *testing.T) {
	const (
		gold     = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gold}\nvalue: 1000\npreemptionPolicy: Never\n"
		usual    = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: usual}\nvalue: 10\nglobalDefault: true\n"
		kata     = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata-qemu\noverhead: {podFixed: {memory: 128Mi}}\n"
		here     = "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: here}\nhandler: runc\nscheduling: {nodeSelector: {a: b}}\n"
		builder  = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: builder, namespace: ns}\nautomountServiceAccountToken: false\nimagePullSecrets: [{name: reg}]\n"
		standard = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default, namespace: ns}\nimagePullSecrets: [{name: reg}]\n"
		reg      = "apiVersion: v1\nkind: Secret\nmetadata: {name: reg, namespace: ns}\n"
	)
	elsewhere := func(text string) string { return strings.Replace(text, "namespace: ns", "namespace: other", 1) }
	for name, c := range map[string]struct {
		documents []string
		want      string
	}{
		"a class beside": {[]string{gold, aPod("  priorityClassName: gold")}, "class=gold priority=1000 preempts=Never"},
		"no such class": {
			[]string{gold, aPod("  priorityClassName: golf")},
			`deny spec.priorityClassName: no PriorityClass with name golf was found (did you mean gold?)`,
		},
		"another number than the class": {
			[]string{gold, aPod("  priorityClassName: gold\n  priority: 5")},
			`deny spec.priority: Invalid value: 5: gold has the priority 1000 (leave it out)`,
		},
		"another policy than the class": {
			[]string{gold, aPod("  priorityClassName: gold\n  preemptionPolicy: PreemptLowerPriority")},
			`deny spec.preemptionPolicy: Invalid value: "PreemptLowerPriority": gold has the policy Never (leave it out)`,
		},
		"an unknown class with a number": {[]string{aPod("  priorityClassName: silver\n  priority: 5")}, "class=silver priority=5"},
		"the default class":              {[]string{gold, usual, aPod("")}, "class=usual priority=10 preempts=PreemptLowerPriority"},
		"a number counts before it":      {[]string{usual, aPod("  priority: 7")}, "priority=7"},
		"a class of the system":          {[]string{usual, aPod("  priorityClassName: system-node-critical")}, "class=system-node-critical priority=2000001000"},
		"a static pod passes no plugin": {
			[]string{usual, strings.Replace(aPod(""), "namespace: ns", "namespace: ns, annotations: {kubernetes.io/config.source: file}", 1)}, "",
		},
		"overhead of the runtime class": {[]string{kata, aPod("  runtimeClassName: kata")}, "overhead=memory:128Mi"},
		"another overhead": {
			[]string{kata, aPod("  runtimeClassName: kata\n  overhead: {memory: 1Mi}")},
			`deny spec.overhead: it is not the overhead of the RuntimeClass "kata" (leave it out)`,
		},
		"scheduling of the runtime class": {
			[]string{here, aPod("  runtimeClassName: here")},
			`warn spec.runtimeClassName: the scheduling of RuntimeClass "here" is ignored: there is no scheduler: podctl runs the pod here`,
		},
		"a runtime class that is not declared": {
			[]string{kata, aPod("  runtimeClassName: kaat")},
			`warn spec.runtimeClassName: RuntimeClass "kaat" is not declared: it stands for the handler of that name (did you mean kata?)`,
		},
		"pull secrets of the account":        {[]string{builder, reg, aPod("  serviceAccountName: builder")}, "pull=reg"},
		"of the default account":             {[]string{standard, reg, aPod("")}, "pull=reg"},
		"but not beside those of the pod":    {[]string{standard, reg, strings.Replace(reg, "reg", "own", 1), aPod("  imagePullSecrets: [{name: own}]")}, "pull=own"},
		"and not of another namespace":       {[]string{elsewhere(standard), elsewhere(reg), aPod("")}, ""},
		"an account that mounts a token":     {[]string{strings.Replace(builder, "false", "true", 1), reg, aPod("  serviceAccountName: builder")}, "pull=reg\nwarn spec.serviceAccountName: no token is mounted: there is no API server to issue a token (automountServiceAccountToken: false says that the pod needs none)"},
		"a pod that mounts none":             {[]string{strings.Replace(builder, "false", "true", 1), reg, aPod("  serviceAccountName: builder\n  automountServiceAccountToken: false")}, "pull=reg"},
		"an account that is not declared":    {[]string{builder, reg, aPod("  serviceAccountName: bilder")}, `warn spec.serviceAccountName: ServiceAccount "bilder" is not declared: the pod has no pull secrets of it and no token (did you mean builder?)`},
		"an account of another namespace":    {[]string{elsewhere(builder), elsewhere(reg), aPod("  serviceAccount: builder")}, `warn spec.serviceAccount: ServiceAccount "builder" is not declared: the pod has no pull secrets of it and no token (other/builder is declared, in another namespace than the pod's, ns)`},
		"a pull secret that is not declared": {[]string{builder, aPod("  serviceAccountName: builder")}, "pull=reg\nwarn spec.imagePullSecrets[0].name: Secret \"reg\" is not declared: images are pulled without it"},
	} {
		t.Run(name, func(t *testing.T) {
			plain, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(c.documents[len(c.documents)-1]), ForCluster: true})
			if plain == nil || len(plain.Pods) != 1 {
				t.Fatalf("without the objects: %v", err)
			}
			backwards := slices.Clone(c.documents)
			slices.Reverse(backwards)
			for way, documents := range map[string][]string{"one file": c.documents, "backwards": backwards} {
				set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(strings.Join(documents, "\n---\n"))})
				if got := admissionText(set, err); got != c.want {
					t.Errorf("%s: got:\n%s\nwant:\n%s", way, got, c.want)
				}
				if err == nil && set.Pods[0].UID != plain.Pods[0].UID {
					t.Errorf("%s: another UID than without the objects", way)
				}
				if again, decodeErr := Decode(set.Pods[0].Document); decodeErr != nil || applied(again) != applied(set.Pods[0].Pod) || again.UID != set.Pods[0].UID {
					t.Errorf("%s: its document makes another pod: %v", way, decodeErr)
				}
			}
			if got := admissionOfFiles(t, c.documents); got != c.want {
				t.Errorf("a file each: got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// admissionText prints the pod of a set, and what was said, as "VERDICT FIELD: MESSAGE (HINT)".
func admissionText(set *Set, err error) string {
	var lines []string
	add := func(verdict string, p Problem) { lines = append(lines, problemText(verdict, p)) }
	if problems, ok := errors.AsType[Problems](err); ok {
		for _, p := range problems {
			add("deny", p)
		}
		return strings.Join(lines, "\n")
	}
	if text := applied(set.Pods[0].Pod); text != "" {
		lines = append(lines, text)
	}
	for _, p := range set.Warnings {
		add("warn", p)
	}
	return strings.Join(lines, "\n")
}

func problemText(verdict string, p Problem) string {
	text := fmt.Sprintf("%s %s: %s", verdict, p.Field, p.Message)
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// admissionOfFiles is what an agent does: each document is a file, whose trees are forgotten
// before the objects are there.
func admissionOfFiles(t *testing.T, documents []string) string {
	t.Helper()
	var pods []*Pod
	var objects []*pod.Objects
	for i, text := range documents {
		set, err := Parse(t.Context(), fmt.Sprintf("%d.yaml", i), []byte(text), LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		set.Forget()
		pods, objects = append(pods, set.Pods...), append(objects, set.Objects)
	}
	before := bytes.Clone(pods[0].Document)
	admitted, findings := Admit(pods[0], pod.Merge(objects...))
	if !bytes.Equal(before, pods[0].Document) {
		t.Error("Admit changed its argument")
	}
	var denied, lines []string
	if text := applied(admitted.Pod); text != "" {
		lines = append(lines, text)
	}
	for _, f := range findings {
		if f.Line == 0 || f.File == "" {
			t.Errorf("a finding without a line: %v", f)
		}
		text := problemText(string(f.Verdict), f.Problem)
		if lines = append(lines, text); f.Verdict == Deny {
			denied = append(denied, text)
		}
	}
	if len(denied) > 0 {
		return strings.Join(denied, "\n")
	}
	return strings.Join(lines, "\n")
}

// A manifest cannot make more work or text than there is use for.
func TestAdmissionIsBounded(t *testing.T) {
	var b, volumes, mounts strings.Builder
	for i := range maxFindings + 1 {
		fmt.Fprintf(&b, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v%d}, spec: {capacity: {storage: 1}, accessModes: [ReadWriteOnce], nfs: {server: s, path: /x}}}\n---\n", i)
		fmt.Fprintf(&b, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c%d}, spec: {volumeName: v%d, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}}}\n---\n", i, i)
		fmt.Fprintf(&volumes, "{name: v%d, persistentVolumeClaim: {claimName: c%d}}, ", i, i)
		fmt.Fprintf(&mounts, "{name: v%d, mountPath: /v%d}, ", i, i)
	}
	b.WriteString("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [" + volumes.String() + "], containers: [{name: c, image: x, volumeMounts: [" + mounts.String() + "]}]}}")
	_, err := Load(t.Context(), []string{"-"}, from(b.String()))
	var problems Problems
	if !errors.As(err, &problems) || len(problems) != maxFindings {
		t.Errorf("%d problems, want %d: %v", len(problems), maxFindings, err)
	}
}

// Every name that is not declared would be compared with every object.
func TestNearMissIsNotSoughtAmongManyObjects(t *testing.T) {
	for _, n := range []int{maxNear, maxNear + 1} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "{apiVersion: v1, kind: ConfigMap, metadata: {name: map-%d}, data: {a: b}}\n---\n", i)
			fmt.Fprintf(&b, "{apiVersion: v1, kind: ConfigMap, metadata: {name: else, namespace: n%d}}\n---\n", i)
			fmt.Fprintf(&b, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: class-%d}, value: 1}\n---\n", i)
		}
		data := strings.Repeat("key%d: v, ", n)
		args := make([]any, n)
		for i := range args {
			args[i] = i
		}
		fmt.Fprintf(&b, "{apiVersion: v1, kind: ConfigMap, metadata: {name: keys, namespace: k}, data: {"+data+"}}\n---\n", args...)
		b.WriteString("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: klass-1, containers: [{name: c, image: x, envFrom: [{configMapRef: {name: mapp-1}}, {configMapRef: {name: else}}]}]}}\n---\n")
		b.WriteString("{apiVersion: v1, kind: Pod, metadata: {name: k, namespace: k}, spec: {containers: [{name: c, image: x, env: [{name: A, valueFrom: {configMapKeyRef: {name: keys, key: keyy1}}}]}]}}\n")
		set, err := Load(t.Context(), []string{"-"}, from(b.String()))
		var problems Problems
		if !errors.As(err, &problems) {
			t.Fatal(err)
		}
		for _, p := range append(slices.Clone(problems), set.Warnings...) {
			if len(p.Hint) > 200 || n > maxNear && strings.Contains(p.Hint, "did you mean") {
				t.Errorf("%d objects: %.300s", n, p.Hint)
			}
		}
	}
}

// One pod can break a rule once for each of its containers.
func TestFindingsStayBoundedAfterDenial(t *testing.T) {
	a := &admission{written: &Pod{Pod: &v1.Pod{}}}
	for _, v := range []Verdict{Warn, Deny} {
		for range 2 * maxFindings {
			a.report(v, "spec", "message", "")
		}
	}
	a.report(Warn, "spec", "message", "")
	if len(a.findings) != maxFindings+1 || !a.denied() {
		t.Errorf("%d findings", len(a.findings))
	}
}
