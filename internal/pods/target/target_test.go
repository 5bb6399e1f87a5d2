package target

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/testkit/testutil"
)

// example makes a pod of NAMESPACE/NAME. Its containers are given oldest first, as
// NAME or NAME#ATTEMPT, those that have exited with a "-" at the end, and those that have not
// started with a "+".
func example(name string, containers ...string) *view.Pod {
	namespace, short, _ := strings.Cut(name, "/")
	r := &pod.Pod{UID: types.UID("uid-" + namespace + "-" + short), Namespace: namespace, Name: short, Sandboxes: []*pod.Sandbox{{
		ID: "box-" + namespace + "-" + short, State: pod.Running, CreatedAt: testutil.Noon, Labels: map[string]string{"app": short},
	}}}
	for i, text := range containers {
		c := &pod.Container{State: pod.Running, CreatedAt: testutil.Noon.Add(time.Duration(i) * time.Second)}
		for suffix, state := range map[string]pod.State{"-": pod.Exited, "+": pod.Created} {
			before, has := strings.CutSuffix(text, suffix)
			if text = before; has {
				c.State = state
			}
		}
		name, attempt, _ := strings.Cut(text, "#")
		c.Name, c.ID = name, "ctr-"+namespace+"-"+short+"-"+text
		if attempt != "" {
			c.Attempt = uint32(attempt[0] - '0')
		}
		r.Containers = append([]*pod.Container{c}, r.Containers...)
	}
	return &view.Pod{Metadata: view.Metadata{UID: r.UID, Namespace: namespace, Name: short}, Runtime: r}
}

func examples() []*view.Pod {
	annotated := example("default/annotated", "proxy", "app")
	annotated.Runtime.Sandboxes[0].DefaultContainer = "app"
	spec := example("default/spec", "init-", "side", "second", "first#1-", "first#2")
	spec.Object = &v1.Pod{Spec: v1.PodSpec{
		InitContainers: []v1.Container{{Name: "init"}, {Name: "side"}},
		Containers:     []v1.Container{{Name: "first"}, {Name: "second"}, {Name: "not-created"}},
	}}
	past := example("default/web", "web-")
	past.UID, past.Runtime.UID = "past-web-uid", "past-web-uid"
	past.Runtime.Sandboxes[0].State, past.Runtime.Sandboxes[0].ID = pod.Exited, "past-web-box"
	return []*view.Pod{
		past, example("default/web", "web#0-", "web#1-", "web#2", "cache"), annotated, spec,
		example("default/empty"), example("default/web-2", "web"),
		example("kube/dns", "dns"), example("kube/web", "web"),
		example("test/dns", "dns"), example("test/only", "init-", "main"), example("zz/batch", "init-", "main#0-", "main#1-"), example("web/cache", "redis"),
		{Metadata: view.Metadata{UID: "waits", Namespace: "default", Name: "waits"}},
	}
}

// query reads -n, -A, -l, -c, -p, --all and --attempt=N.
func query(t *testing.T, text string) Query {
	t.Helper()
	var q Query
	words := strings.Fields(text)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch word {
		case "-A":
			q.AllNamespaces = true
		case "-p":
			q.Previous = true
		case "--all":
			q.AllContainers = true
		case "-n":
			q.Namespace, words = words[0], words[1:]
		case "-c":
			q.Container, words = words[0], words[1:]
		case "-l":
			var err error
			if q.Selector, err = labels.Parse(words[0]); err != nil {
				t.Fatal(err)
			}
			words = words[1:]
		default:
			if attempt, ok := strings.CutPrefix(word, "--attempt="); ok {
				q.Attempt = new(uint32(attempt[0] - '0'))
				continue
			}
			q.Words = append(q.Words, word)
		}
	}
	return q
}

// answer is what was found, the error and its hint.
func answer(names []string, err error) string {
	text := strings.Join(names, " ")
	if err == nil {
		return text
	}
	text += "; " + strings.ReplaceAll(err.Error(), "\n", "; ")
	if hinted, ok := err.(interface{ Hint() string }); ok {
		text += " | " + hinted.Hint()
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
		if hinted, ok := joined.Unwrap()[0].(interface{ Hint() string }); ok {
			text += " | " + hinted.Hint()
		}
	}
	return strings.TrimPrefix(text, "; ")
}

func TestPods(t *testing.T) {
	for _, c := range []struct{ rule, query, want string }{
		{"a name prefers the namespace default", "web", "default/web"},
		{"else the only pod of the name", "only", "test/only"},
		{"else it is ambiguous", "dns", `"dns" is ambiguous: kube/dns, test/dns`},
		{"with a namespace it is that one's", "-n kube web", "kube/web"},
		{"in all namespaces every one is meant", "-A web", "default/web kube/web"},
		{"all namespaces override the namespace", "-n kube -A web", "default/web kube/web"},
		{"a namespace in the word overrides -n", "-n default kube/web", "kube/web"},
		{"a kind before it is dropped", "pod web", "default/web"},
		{"a kind of kubectl's form, too", "po/web", "default/web"},
		{"a kind alone is a name", "pod", "pod pod not found | podctl pods lists all pods"},
		{"several", "web kube/dns web", "default/web kube/dns"},
		{"a pattern", "d*", "kube/dns test/dns"},
		{"a pattern in a namespace", "-n kube *", "kube/dns kube/web"},
		{"a pattern of a namespace", "k*/*", "kube/dns kube/web"},
		{"a pattern that matches nothing", "x*", "pod x* not found | podctl pods lists all pods"},
		{"a selector", "-l app=web", "default/web kube/web"},
		{"a selector in a namespace", "-n kube -l app=web", "kube/web"},
		{"a selector among words", "web only -l app=web", "default/web"},
		{"a selector that matches nothing", "-l app=none", "no pod matches | podctl pods -o custom-columns=POD:.metadata.name,LABELS:.metadata.labels lists labels"},
		{"nothing named is every pod", "-n kube", "kube/dns kube/web"},
		{"a UID of a pod in whose place is another", "past-web", "default/web"},
		{"a sandbox, in any namespace", "-n default box-kube-d", "kube/dns"},
		{"too short for an id", "box-k", "pod box-k not found | podctl pods lists all pods"},
		{"an ambiguous id", "box-default", `"box-default" is ambiguous: default/web (sandbox box-default-w), default/annotated (sandbox box-default-a), ` +
			`default/spec (sandbox box-default-s), default/empty (sandbox box-default-e), default/web-2 (sandbox box-default-w)`},
		{"a pod of which the runtime has nothing", "waits", "default/waits"},
		{"unknown, and near", "wob", "pod wob not found | did you mean default/web, kube/web?"},
		{"unknown, and the beginning of names", "annot", "pod annot not found | did you mean default/annotated?"},
		{"in another namespace", "-n test web", "pod test/web not found | there is default/web, kube/web"},
		{"a container where a pod is meant", "web-2/web", "default/web-2/web is a container | its pod is default/web-2"},
		{"a container's id where a pod is meant", "ctr-kube-dns", "kube/dns"},
		{"NAMESPACE/POD goes before POD/CONTAINER, with -n, too", "-n default web/cache", "web/cache"},
		{"errors do not hide what was found", "nope web", "default/web; pod nope not found | podctl pods lists all pods"},
		{"no name", "a//b", `"a//b" is not [NAMESPACE/]POD[/CONTAINER]`},
		{"no pattern", "[", `"[" is not [NAMESPACE/]POD[/CONTAINER]`},
	} {
		found, err := Pods(examples(), query(t, c.query))
		var names []string
		for _, p := range found {
			names = append(names, p.DisplayName())
		}
		if got := answer(names, err); got != c.want {
			t.Errorf("%s: %q:\n got %s\nwant %s", c.rule, c.query, got, c.want)
		}
	}
}

// A name stands for the pod that a podctl process manages, else one that runs, else the
// newest; its UID for any.
func TestNameMeansCurrentPod(t *testing.T) {
	for query, want := range map[string]types.UID{"web": "uid-default-web", "past-web-uid": "past-web-uid"} {
		found, err := Pods(examples(), Query{Words: []string{query}})
		if err != nil || len(found) != 1 || found[0].UID != want {
			t.Errorf("%s: %v, %v", query, found, err)
		}
	}
}

func TestContainers(t *testing.T) {
	for _, c := range []struct{ rule, query, want string }{
		{"the only container", "only/main", "test/only/main#0"},
		{"a running one before an exited one", "only", "test/only/main#0 (of init)"},
		{"of a pod that has exited not the oldest, an init container", "zz/batch", "zz/batch/main#1 (of init)"},
		{"else the oldest", "web", "default/web/web#2 (of cache)"},
		{"the one of the annotation", "annotated", "default/annotated/app#0"},
		{"the first of the spec", "spec", "default/spec/first#2 (of second init side)"},
		{"all, in the spec's order", "spec --all", "default/spec/first#2 default/spec/second#0 default/spec/init#0 default/spec/side#0"},
		{"by -c", "web -c cache", "default/web/cache#0"},
		{"by the word", "default/web/cache", "default/web/cache#0"},
		{"by both", "default/web/cache -c cache", "default/web/cache#0"},
		{"by both, different", "default/web/cache -c web", `pod default/web: both container "cache" and --container "web" given`},
		{"A/B is namespace and pod first", "web/cache", "web/cache/redis#0"},
		{"with -n it is pod and container first", "-n default web/cache", "default/web/cache#0"},
		{"then namespace and pod", "-n default kube/dns", "kube/dns/dns#0"},
		{"pod and container where there is no such pod", "annotated/proxy", "default/annotated/proxy#0"},
		{"a pattern of containers", "spec/s*", "default/spec/second#0 default/spec/side#0"},
		{"a pattern of pods, those with the container", "* -c redis", "web/cache/redis#0"},
		{"none of which has it", "d* -c redis", `pod test/dns has no container "redis" | its containers: dns`},
		{"a pod without containers", "empty", "default/empty"},
		{"a pod of which the runtime has nothing", "waits", "default/waits"},
		{"a container of a pod without any", "empty/c", "default/empty has no container yet | podctl describe default/empty"},
		{"a container of the spec that is not created", "spec -c not-created", "default/spec/not-created has no container yet | podctl describe default/spec"},
		{"an unknown container", "web -c cahce", `pod default/web has no container "cahce" | did you mean cache?`},
		{"in the word", "annotated/none", `pod default/annotated has no container "none" | its containers: proxy, app`},
		{"in the full word", "default/web/none", `pod default/web has no container "none" | its containers: web, cache`},
		{"no such pod in two parts", "kube/dn", "pod kube/dn not found | did you mean kube/dns, test/dns?"},
		{"an attempt", "web --attempt=1", "default/web/web#1 (of cache)"},
		{"an attempt that is gone", "web --attempt=7", "container default/web/web has no attempt 7 | the runtime has attempt 2, 1, 0"},
		{"the previous one", "-p web/web", `default/web/web#1`},
		{"no previous one", "-p web -c cache", "container default/web/cache has no previous attempt | the runtime has its newest attempt only"},
		{"no previous one of a container that has exited", "-p past-web/web",
			"container default/web/web has no previous attempt | the runtime has its newest attempt only, which has exited: it is shown without --previous"},
		{"all that have a previous one", "-p web --all", "default/web/web#1"},
		{"an id of a container", "ctr-default-web-web#0", "default/web/web#0"},
		{"and another attempt of it", "ctr-default-web-web#0 --attempt=2", "default/web/web#2"},
		{"an id of a pod, and a container", "past-web/web", "default/web/web#0"},
		{"an ambiguous id", "ctr-default-web-web", `"ctr-default-web-web" is ambiguous: default/web/web (attempt 0, ctr-default-w), ` +
			`default/web/web (attempt 2, ctr-default-w), default/web/web (attempt 1, ctr-default-w), default/web/web (attempt 0, ctr-default-w)`},
		{"a container as kubectl has it", "annotated proxy", "default/annotated/app#0; pod proxy not found | a container is named after its pod: default/annotated/proxy"},
		{"several pods", "kube/* test/dns", "kube/dns/dns#0 kube/web/web#0 test/dns/dns#0"},
	} {
		found, err := Containers(examples(), query(t, c.query))
		var names []string
		for _, target := range found {
			name := target.DisplayName()
			if target.Container != nil {
				name += "#" + string(rune('0'+target.Container.Attempt))
			}
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

func TestOneRejectsSeveralContainers(t *testing.T) {
	for _, c := range []struct{ query, want string }{
		{"web", "default/web/web"},
		{"web --all", `"web" is ambiguous: default/web/web, default/web/cache`},
		{"kube/dns test/dns", `"kube/dns test/dns" is ambiguous: kube/dns/dns, test/dns/dns`},
		{"-l app=dns", `"app=dns" is ambiguous: kube/dns/dns, test/dns/dns`},
		{"", "no pod given | [NAMESPACE/]POD[/CONTAINER]; podctl pods lists them"},
		{"none", "pod none not found | podctl pods lists all pods"},
	} {
		found, err := One(examples(), query(t, c.query))
		var names []string
		if err == nil {
			names = []string{found.DisplayName()}
		}
		if got := answer(names, err); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.query, got, c.want)
		}
	}
}

// The candidates of an ambiguous name are bounded.
func TestAmbiguousErrorCountsCandidates(t *testing.T) {
	var all []*view.Pod
	for _, n := range "abcdefghijkl" {
		all = append(all, example("ns-"+string(n)+"/web", "web"))
	}
	_, err := One(all, Query{Words: []string{"web"}})
	if err == nil || !strings.HasSuffix(err.Error(), "ns-j/web and 2 more") {
		t.Error(err)
	}
}

// What the listing has is not changed by a query.
func TestQueriesLeavePodsUnchanged(t *testing.T) {
	all := examples()
	before := slices.Clone(all)
	for _, text := range []string{"web", "-A web", "* --all", "-l app=dns"} {
		_, _ = Containers(all, query(t, text))
	}
	if !slices.Equal(before, all) {
		t.Error("the order of the pods changed")
	}
}
