package target

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/testkit/testutil"
)

// hostile are pods whose names a shell or podctl could read as something else, beside
// others that those readings would name.
func hostile() []*view.Pod {
	names := [][2]string{
		{"*", "*"}, {"default", "*"}, {"default", "w?b"}, {"default", `w\eb`}, {"default", "web 2"}, {"default", "a/b"},
		{"pod", "web"}, {"--force", "x"}, {"default", "-A"}, {"default", "$(reboot)"}, {"", "web"}, {"default", "line\nend"}, {"..", "x"},
		{"default", "web"}, {"default", "api"}, {"kube", "api"}, {"default", "web-2"}, {"my", "a_b.c"},
	}
	var listed []*pod.Pod
	for i, n := range names {
		p := example(n[0]+"/"+n[1], "app", "c*").Runtime
		p.Namespace, p.Name, p.UID = n[0], n[1], types.UID(rune('a'+i))+"-uid-of-a-pod"
		p.Sandboxes[0].ID, p.Sandboxes[0].CreatedAt = "5a4d"+string(rune('a'+i))+"0123456789", testutil.Noon.Add(time.Duration(i)*time.Second)
		for j, c := range p.Containers {
			c.ID = "c0de" + string(rune('a'+i)) + string(rune('a'+j)) + "456789"
		}
		listed = append(listed, p)
	}
	past := example("default/web", "app").Runtime
	past.UID, past.Sandboxes[0].ID, past.Sandboxes[0].State, past.Containers[0].ID = "past-uid", "9a570123456789", pod.Exited, "9ac70123456789"
	past.Containers[0].State = pod.Exited
	return view.Merge(append(listed, past), owners.NotAsked())
}

func TestCLINameSelectsOnlyItsPod(t *testing.T) {
	all := hostile()
	for _, p := range all {
		if got := p.CLIName(); !isPlainWord(got) {
			t.Errorf("%q/%q: the word %q is not plain", p.Namespace, p.Name, got)
		}
		for _, literal := range []bool{true, false} {
			found, err := Pods(all, Query{Namespace: "default", Words: []string{p.CLIName()}, Literal: literal})
			if err != nil || len(found) != 1 || found[0] != p {
				t.Errorf("%q/%q: word %q (literal %t) names %d pods, %v", p.Namespace, p.Name, p.CLIName(), literal, len(found), err)
			}
		}
		for _, c := range p.Runtime.Containers {
			found, err := Containers(all, Query{Words: []string{p.ContainerCLIName(c)}})
			if err != nil || len(found) != 1 || found[0].Container != c || !isPlainWord(p.ContainerCLIName(c)) {
				t.Errorf("%q/%q/%s: word %q names %v, %v", p.Namespace, p.Name, c.Name, p.ContainerCLIName(c), found, err)
			}
		}
	}
	for word, want := range map[string]bool{"my/a_b.c": true, "default/web": true, "kube/api": true, "pod/web": false} {
		if got := slices.ContainsFunc(all, func(p *view.Pod) bool { return p.CLIName() == word }); got != want {
			t.Errorf("%s is printed: %t, want %t", word, got, want)
		}
	}
}

// isPlainWord reports whether a shell, xargs and podctl read a word literally.
func isPlainWord(word string) bool {
	return word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool {
		return (r < 'a' || 'z' < r) && (r < '0' || '9' < r) && !slices.Contains([]rune("/._-"), r)
	}) && word[0] != '-' && word[0] != '.'
}

func TestCLINameOfRemovedPodSelectsNoOther(t *testing.T) {
	all := hostile()
	for _, p := range all {
		if p.Name == "web" {
			continue // another pod has the name, as a successor would
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(other *view.Pod) bool { return other == p })
		if found, err := Pods(rest, Query{Words: []string{p.CLIName()}}); err == nil {
			t.Errorf("%q/%q: word %q names %d others", p.Namespace, p.Name, p.CLIName(), len(found))
		}
	}
}

func TestNameGoesBeforePattern(t *testing.T) {
	all := hostile()
	for word, want := range map[string]int{"*/*": 1, "default/*": 1, "w?b": 1, "we*": 3, "*b": 3} {
		if found, err := Pods(all, Query{Namespace: "default", Words: []string{word}}); err != nil || len(found) != want {
			t.Errorf("%s: %d pods, %v; want %d", word, len(found), err, want)
		}
	}
	found, err := Containers(all, Query{Words: []string{"api/c*"}, AllNamespaces: true})
	if err != nil || len(found) != 2 || found[0].Container.Name != "c*" {
		t.Errorf("a container's name: %v, %v", found, err)
	}
}

func TestLiteralQueryHasNoPatterns(t *testing.T) {
	all := hostile()
	for word, want := range map[string]int{"*/*": 1, "default/*": 1, "web*": 0, "kube/*": 0, "default/a[": 0} {
		found, err := Pods(all, Query{Namespace: "default", Words: []string{word}, Literal: true})
		if len(found) != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d pods, %v; want %d", word, len(found), err, want)
		}
	}
}

func TestNameInOtherNamespaceIsNotAnID(t *testing.T) {
	all := []*view.Pod{{Metadata: view.Metadata{UID: "cafe0123", Namespace: "kube", Name: "db"}}, {Metadata: view.Metadata{UID: "other", Namespace: "kube", Name: "cafe01"}}}
	if found, err := Pods(all, Query{Namespace: "default", Words: []string{"cafe01"}}); err == nil {
		t.Errorf("the name of a pod elsewhere is taken for an id: %v", found)
	}
}
