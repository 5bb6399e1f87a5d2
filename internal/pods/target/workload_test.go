package target

import (
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/pods/view"
)

// replicas are pods of workloads, and pods whose names could be read as those.
func replicas() []*view.Pod {
	of := func(name, workload string, containers ...string) *view.Pod {
		p := example(name, containers...)
		p.Runtime.Sandboxes[0].Workload = workload
		return p
	}
	return []*view.Pod{
		of("default/web-1", "Deployment/default/web", "app", "side"), of("default/web-2", "Deployment/default/web", "app"),
		of("kube/web-3", "Deployment/kube/web", "app"), of("kube/db-0", "StatefulSet/kube/db", "db"), of("test/db-0", "StatefulSet/test/db", "db"),
		of("default/once-x", "Job/default/once", "once-"), example("default/web", "app"), example("job/named", "app"), example("default/sts", "named"),
	}
}

func TestWorkloadStandsForItsPods(t *testing.T) {
	for _, c := range []struct{ rule, query, want string }{
		{"all its containers' default ones", "deploy/web", "default/web-1/app#0 (of side) default/web-2/app#0"},
		{"kubectl's words for the kind", "deployments.apps/web -c side", "default/web-1/side#0"},
		{"the kind as manifests write it", "Deployment/web -c side", "default/web-1/side#0"},
		{"a namespace", "-n kube deploy/web", "kube/web-3/app#0"},
		{"all namespaces", "-A deployment/web", "default/web-1/app#0 (of side) default/web-2/app#0 kube/web-3/app#0"},
		{"with a selector", "deploy/web -l app=web-2", "default/web-2/app#0"},
		{"a pattern", "deploy/w* -c app", "default/web-1/app#0 default/web-2/app#0"},
		{"the only one of the name", "jobs/once", "default/once-x/once#0"},
		{"else it is ambiguous", "sts/db", `"statefulset/db" is ambiguous: kube/db, test/db`},
		{"another kind has another name", "ds/web", "no pod of daemonset default/web found | there is deployment/web, deployment/web of namespace kube"},
		{"none in the namespace", "-n test deploy/web", "no pod of deployment test/web found | there is deployment/web of namespace default, deployment/web of namespace kube"},
		{"unknown", "deploy/nope", "no pod of deployment default/nope found | podctl pods lists all pods"},
		{"a namespace of the name goes before", "job/named", "job/named/app#0"},
		{"a pod and its container go before", "sts/named", "default/sts/named#0"},
		{"all containers", "deploy/web --all", "default/web-1/app#0 default/web-1/side#0 default/web-2/app#0"},
		{"a container that no pod has", "deploy/web -c nope", `pod default/web-2 has no container "nope" | its containers: app`},
	} {
		found, err := Containers(replicas(), query(t, c.query))
		var names []string
		for _, target := range found {
			name := target.DisplayName() + "#0"
			if len(target.DefaultedFrom) > 0 {
				name += " (of " + strings.Join(target.DefaultedFrom, " ") + ")"
			}
			names = append(names, name)
		}
		if got := answer(names, err); got != c.want {
			t.Errorf("%s: %q:\n got %s\nwant %s", c.rule, c.query, got, c.want)
		}
	}
}

// stop and rm take names of pods.
func TestLiteralWordIsNoWorkload(t *testing.T) {
	for _, word := range []string{"deploy/web", "job/once", "statefulset/db"} {
		found, err := Pods(replicas(), Query{Namespace: "default", Words: []string{word}, Literal: true})
		if err == nil || len(found) > 0 {
			t.Errorf("%s: %d pods, %v", word, len(found), err)
		}
	}
	_, err := Pods(replicas(), Query{Namespace: "default", Words: []string{"deploy/web"}, Literal: true})
	if got, want := answer(nil, err), "pod deploy/web not found | a pod's name, not a workload's: the pods of deployment/web are default/web-1, default/web-2"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWorkloadIsSeveralPods(t *testing.T) {
	q := Query{Words: []string{"deploy/web"}}
	if !q.NamesWorkload() || q.IsExact() {
		t.Errorf("names a workload %t, exact %t", q.NamesWorkload(), q.IsExact())
	}
	if _, err := One(replicas(), q); err == nil || err.Error() != `"deploy/web" is ambiguous: default/web-1/app, default/web-2/app` {
		t.Error(err)
	}
	if (Query{Words: []string{"default/web"}}).NamesWorkload() {
		t.Error("a pod is taken for a workload")
	}
}

// A pod in a namespace that is called like a kind has an id on the command line.
func TestPodInNamespaceOfAKindIsNamedByID(t *testing.T) {
	if word := example("job/named", "app").CLIName(); word != "box-job-named" {
		t.Error(word)
	}
}
