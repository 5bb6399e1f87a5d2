package manifest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

const aStatefulSet = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: prod}
spec:
  replicas: 2
  serviceName: dbs
  selector: {matchLabels: {app: db}}
  template:
    metadata:
      labels: {app: db}
      annotations: {note: on the pod}
    spec:
      volumes: [{name: data, emptyDir: {}}, {name: other, emptyDir: {}}]
      containers:
      - name: c
        image: x
        volumeMounts: [{name: data, mountPath: /d}]
  volumeClaimTemplates:
  - metadata: {name: data, labels: {a: b}}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`

// aDeployment and aJob take the image of their pods.
func aDeployment(name, image string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: %s}]}}}\n", name, image)
}

func aJob(name, image string) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: %s}]}}}\n", name, image)
}

func mustLoad(t *testing.T, text string, replicas int) *Set {
	t.Helper()
	set, err := Load(t.Context(), []string{"-"}, LoadOptions{Stdin: strings.NewReader(text), Replicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func namesOf(set *Set) []string {
	var all []string
	for _, p := range set.Pods {
		all = append(all, p.Name)
	}
	return all
}

func TestStatefulSetNamesAndClaims(t *testing.T) {
	set := mustLoad(t, aStatefulSet, 2)
	if diff := cmp.Diff([]string{"db-0", "db-1"}, namesOf(set)); diff != "" {
		t.Fatal(diff)
	}
	p := set.Pods[1]
	if p.Namespace != "prod" || p.Spec.Hostname != "db-1" || p.Spec.Subdomain != "dbs" || p.Annotations["note"] != "on the pod" {
		t.Errorf("got %v", p.Pod)
	}
	for key, want := range map[string]string{"app": "db", "statefulset.kubernetes.io/pod-name": "db-1", "apps.kubernetes.io/pod-index": "1"} {
		if p.Labels[key] != want {
			t.Errorf("label %s: %q, want %q", key, p.Labels[key], want)
		}
	}
	want := []v1.Volume{
		{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-db-1"}}},
		{Name: "other", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
	}
	if diff := cmp.Diff(want, p.Spec.Volumes); diff != "" {
		t.Error(diff)
	}
	c := set.Objects.Claim("prod", "data-db-1")
	if c == nil || c.Labels["a"] != "b" || c.Labels["app"] != "db" || c.Spec.VolumeMode == nil {
		t.Errorf("claim %v", c)
	}
}

// A StatefulSet starts its pods one after the other, unless it says otherwise.
func TestStatefulSetOfSeveralPodsWarnsThatTheyStartAtOnce(t *testing.T) {
	const want = `stdin:5: statefulset "db": spec.replicas: its 2 pods start at once, not each once the one before it is ready`
	for _, c := range []struct {
		text     string
		replicas int
		warned   bool
	}{
		{aStatefulSet, 2, true},
		{strings.Replace(aStatefulSet, "serviceName:", "podManagementPolicy: OrderedReady\n  serviceName:", 1), 2, true},
		{strings.Replace(aStatefulSet, "serviceName:", "podManagementPolicy: Parallel\n  serviceName:", 1), 2, false},
		{strings.Replace(aStatefulSet, "replicas: 2", "replicas: 1", 1), 1, false},
	} {
		var said []string
		for _, w := range mustLoad(t, c.text, c.replicas).Warnings {
			said = append(said, w.String())
		}
		if got := slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, want) }); got != c.warned {
			t.Errorf("warned %v, want %v, of %s\n%q", got, c.warned, c.text, said)
		}
	}
}

// All pods of a changed template are replaced at once, unless it says that this is as it should be.
func TestSeveralReplicasWarnThatTheyAreReplacedAtOnce(t *testing.T) {
	deployment := func(strategy string) string {
		return strings.Replace(aDeployment("web", "x"), "spec: {selector", "spec: {replicas: 3, "+strategy+"selector", 1)
	}
	for text, want := range map[string][]string{
		deployment(""): {"spec.strategy"}, deployment("strategy: {type: RollingUpdate}, "): {"spec.strategy", "spec.strategy"},
		deployment("strategy: {type: Recreate}, "):                                                        nil,
		strings.Replace(aStatefulSet, "serviceName:", "podManagementPolicy: Parallel\n  serviceName:", 1): {"spec.updateStrategy", "spec.podManagementPolicy"},
	} {
		var got []string
		for _, w := range mustLoad(t, text, 3).Warnings {
			if w.Field != "spec.replicas" {
				got = append(got, w.Field)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("warned of %v, want %v:\n%s", got, want, text)
		}
	}
}

// A claim that was written beside its StatefulSet is taken as it is.
func TestExplicitClaim(t *testing.T) {
	set := mustLoad(t, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: prod, labels: {own: "yes"}}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
---
`+aStatefulSet, 1)
	if c := set.Objects.Claim("prod", "data-db-0"); c == nil || c.Labels["own"] != "yes" {
		t.Errorf("got %v", c)
	}
}

// A pod of a workload that is found in the runtime becomes the same pod by its
// document again: a document is a pod's, whatever it was made of.
func TestWorkloadPodRoundTrip(t *testing.T) {
	set := mustLoad(t, strings.Join([]string{aStatefulSet, aDeployment("web", "x"), aJob("once", "x")}, "---\n"), 2)
	if len(set.Pods) != 5 {
		t.Fatalf("got %v", namesOf(set))
	}
	for _, p := range set.Pods {
		again, err := Decode(p.Document)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p.Pod, again); diff != "" {
			t.Error(diff)
		}
	}
}

// Names do not change from run to run, are different for each pod, and fit.
func TestGeneratedNames(t *testing.T) {
	long := strings.Repeat("long", 13)
	text := strings.Join([]string{aDeployment("web", "x"), aDeployment(long, "x"), aJob(long, "x")}, "---\n")
	first, second := namesOf(mustLoad(t, text, 3)), namesOf(mustLoad(t, text, 3))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	slices.Sort(second)
	if len(slices.Compact(second)) != 7 {
		t.Errorf("not seven names: %v", first)
	}
	for _, name := range first {
		if len(name) > 63 {
			t.Errorf("%s has %d characters", name, len(name))
		}
	}
}

// A changed template is another pod under the same name, whose pod it replaces: the
// workload's identity decides that, not the hash of its template.
func TestChangedTemplateReplacesPod(t *testing.T) {
	for _, c := range []struct {
		workload func(name, image string) string
		hashed   bool
	}{{aDeployment, true}, {aJob, false}} {
		one, two := mustLoad(t, c.workload("w", "x:1"), 1).Pods[0], mustLoad(t, c.workload("w", "x:2"), 1).Pods[0]
		if one.UID == two.UID || one.Name != two.Name {
			t.Errorf("%s %s and %s %s", one.Name, one.UID, two.Name, two.UID)
		}
		if one.Labels["pod-template-hash"] == two.Labels["pod-template-hash"] && c.hashed {
			t.Errorf("the same hash %q", one.Labels["pod-template-hash"])
		}
		if other := mustLoad(t, c.workload("v", "x:1"), 1).Pods[0]; strings.TrimPrefix(other.Name, "v") == strings.TrimPrefix(one.Name, "w") {
			t.Errorf("another workload has the same hash: %s and %s", other.Name, one.Name)
		}
	}
}

// LineOf takes a field of the pod and finds it in the template.
func TestLineOfTemplatePod(t *testing.T) {
	p := mustLoad(t, aStatefulSet, 1).Pods[0]
	for field, want := range map[string]int{"spec.containers[0].image": 16, "metadata.labels[app]": 10, "spec.nodeName": 12} {
		if got := p.LineOf(field); got != want {
			t.Errorf("%s: line %d, want %d", field, got, want)
		}
	}
}

// Of what is named by ConfigFrom only objects are read; the rest may be what
// it likes. A file that is an argument, too, is read once.
func TestConfigFromReadsObjectsOnly(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"pod.yaml": podNamed("a") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: both}\n",
		"more.yaml": podNamed("b") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\napiVersion: example.com/v1\nkind: Widget\n---\n" +
			aDeployment("web", "x") + "---\napiVersion: v1\nkind: Endpoints\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Load(t.Context(), []string{"pod.yaml"}, LoadOptions{ConfigFrom: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, namesOf(set)); diff != "" || len(set.Warnings) > 0 {
		t.Error(diff, set.Warnings)
	}
	if set.Objects.ConfigMap("default", "c") == nil || set.Objects.ConfigMap("default", "both") == nil {
		t.Errorf("got %v", set.Objects.ConfigMaps)
	}
}
