package source

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podctl/podctl/internal/desired/manifest"
)

const (
	classyPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {priorityClassName: gold, containers: [{name: c, image: i}]}\n"
	goldClass = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: gold}\nvalue: 1000\n"
	plainPod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec: {containers: [{name: c, image: i}]}\n"
)

// deliver is what a source delivers of a file with this text.
func deliver(t *testing.T, name, text string) Update {
	t.Helper()
	if text == "" {
		return Update{}
	}
	set, err := manifest.Parse(t.Context(), name, []byte(text), manifest.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	set.Forget()
	return Update{Pods: set.Pods, Objects: set.Objects}
}

func priorities(a *Admitter, name string) (all []int32) {
	for _, p := range a.sources[name].pods {
		priority := int32(0)
		if p.Spec.Priority != nil {
			priority = *p.Spec.Priority
		}
		all = append(all, priority)
	}
	return all
}

// The objects of one source apply to the pods of another, whenever they come and go. What is
// not admitted is said once, and a pod that was admitted stays as it was.
func TestObjectsOfLaterSourceApply(t *testing.T) {
	a := NewAdmitter()
	var said []string
	step := func(name, text string, complete bool) (changed []string) {
		t.Helper()
		a.SetSource(name, deliver(t, name, text))
		said = nil
		for _, n := range a.AdmitAll(false, complete) {
			said = append(said, n.Level.String()+" "+n.Problem.String())
		}
		return a.TakeStale()
	}
	check := func(what string, changed, wantChanged []string, wantPriorities []int32, wantDenied bool, wantSaid string) {
		t.Helper()
		if !slices.Equal(changed, wantChanged) || !slices.Equal(priorities(a, "pods"), wantPriorities) || a.sources["pods"].denied != wantDenied {
			t.Errorf("%s: changed %q, priorities %v, denied %t", what, changed, priorities(a, "pods"), a.sources["pods"].denied)
		}
		if got := strings.Join(said, "\n"); got != wantSaid {
			t.Errorf("%s: said %q, want %q", what, got, wantSaid)
		}
	}
	missing := `failed pods:4: pod "web": spec.priorityClassName: no PriorityClass with name gold was found`
	check("first", step("pods", classyPod+"---\n"+plainPod, false), []string{"pods"}, []int32{0}, true, "")
	check("all read", step("classes", "", true), nil, []int32{0}, true, missing)
	check("again", step("classes", "", true), nil, []int32{0}, true, "")
	check("the class comes", step("classes", goldClass, true), []string{"pods"}, []int32{1000, 0}, false, "")
	check("another value", step("classes", strings.Replace(goldClass, "1000", "7", 1), true), []string{"pods"}, []int32{7, 0}, false, "")
	check("the class goes", step("classes", "", true), []string{"pods"}, []int32{7, 0}, true, missing)
	check("the pod goes", step("pods", plainPod, true), []string{"pods"}, []int32{0}, false, "")
	check("the pod is there again", step("pods", classyPod+"---\n"+plainPod, true), []string{"pods"}, []int32{0}, true, missing)
}

func TestStrictAdmissionDeniesWhatIsWorthAWarning(t *testing.T) {
	text := strings.Replace(plainPod, "spec: {", "spec: {serviceAccountName: builder, ", 1)
	for strict, want := range map[bool]int{false: 1, true: 0} {
		a := NewAdmitter()
		a.SetSource("pods", deliver(t, "pods", text))
		notices := a.AdmitAll(strict, true)
		if len(notices) != 1 || len(a.sources["pods"].pods) != want || (notices[0].Level == Failed) != strict {
			t.Errorf("strict %t: %d pods, said %v", strict, len(a.sources["pods"].pods), notices)
		}
	}
}

// A Job's or CronJob's own fields are not in the document of its pods.
func TestAdmittedJobFollowsItsManifest(t *testing.T) {
	const template = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}"
	job := func(spec string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: work}\nspec: {" + spec + ", " + template + "}\n"
	}
	cron := func(spec string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: tick}\nspec: {" + spec + ", jobTemplate: {spec: {backoffLimit: 1, " + template + "}}}\n"
	}
	for _, c := range []struct{ name, before, after string }{
		{"suspend", job("suspend: false"), job("suspend: true")},
		{"parallelism", job("parallelism: 1"), job("parallelism: 2")},
		{"activeDeadlineSeconds", job("activeDeadlineSeconds: 1"), job("activeDeadlineSeconds: 2")},
		{"backoffLimit", job("backoffLimit: 1"), job("backoffLimit: 2")},
		{"schedule", cron("schedule: '* * * * *'"), cron("schedule: '1 2 3 4 5'")},
		{"suspend of a CronJob", cron("schedule: '* * * * *', suspend: false"), cron("schedule: '* * * * *', suspend: true")},
		{"jobTemplate", cron("schedule: '* * * * *'"), strings.Replace(cron("schedule: '* * * * *'"), "backoffLimit: 1", "backoffLimit: 2", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := NewAdmitter()
			for i, text := range []string{c.before, c.after, c.after} {
				u := deliver(t, "m", text)
				a.SetSource("m", u)
				a.AdmitAll(false, true)
				if stale := len(a.TakeStale()) > 0; stale != (i < 2) {
					t.Errorf("read %d: stale %t", i, stale)
				}
				if got, want := a.sources["m"].pods[0].Job, u.Pods[0].Job; !equality.Semantic.DeepEqual(got, want) {
					t.Errorf("read %d: admitted %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// A pod that stays, and becomes one of a workload, belongs to that.
func TestAdmittedPodFollowsItsWorkload(t *testing.T) {
	a := NewAdmitter()
	for _, workload := range []string{"", "Deployment/default/web"} {
		u := deliver(t, "m", plainPod)
		u.Pods[0].Workload = workload
		a.SetSource("m", u)
		a.AdmitAll(false, true)
		if got := a.sources["m"].pods[0].Workload; got != workload {
			t.Errorf("workload %q, want %q", got, workload)
		}
	}
}
