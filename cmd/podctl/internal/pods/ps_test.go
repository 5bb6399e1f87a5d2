package pods

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/images"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/testkit/testutil"
)

// listedPods are a pod whose container was started twice, and one that nothing is known of.
func listedPods() []*view.Pod {
	one := func(name string, containers ...*pod.Container) *pod.Pod {
		id := strings.Repeat(name[:1], 12)
		for _, c := range containers {
			c.CreatedAt, c.SandboxID = testutil.Noon, id
		}
		return &pod.Pod{
			UID: types.UID("uid-of-" + name), Namespace: "default", Name: name, Containers: containers,
			Sandboxes: []*pod.Sandbox{{ID: id, State: pod.Running, Labels: map[string]string{"app": name}}},
		}
	}
	return view.Merge([]*pod.Pod{
		one("web",
			&pod.Container{ID: "aaaaaa2", Name: "c", Attempt: 1, State: pod.Running, Image: "busybox:1"},
			&pod.Container{ID: "aaaaaa1", Name: "c", State: pod.Exited, Image: "busybox:1"},
			&pod.Container{ID: "aaaaaa0", Name: "init", State: pod.Created, Image: "sha256:5eed", ImageID: "sha256:5eed"}),
		one("lost", &pod.Container{ID: "bbbbbb0", Name: "c", State: pod.Unknown, Image: "sha256:5eed", ImageID: "sha256:5eed"}),
	}, owners.NotAsked())
}

func TestPsSelects(t *testing.T) {
	byApp, err := labels.Parse("app=web")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rule string
		o    psOptions
		want string
	}{
		{"those that run, and those that may run", psOptions{}, "default/lost/c default/web/c"},
		{"all, each attempt, of which the newest has a name", psOptions{all: true}, "default/lost/c default/web/c aaaaaa1 default/web/init"},
		{"a state", psOptions{state: "exited"}, "aaaaaa1"},
		{"the state that the runtime does not know", psOptions{state: "unknown"}, "default/lost/c"},
		{"a pod", psOptions{all: true, query: target.Query{Words: []string{"web"}}}, "default/web/c aaaaaa1 default/web/init"},
		{"a container", psOptions{all: true, query: target.Query{Words: []string{"web/c"}}}, "default/web/c aaaaaa1"},
		{"an id is one attempt", psOptions{all: true, query: target.Query{Words: []string{"aaaaaa1"}}}, "aaaaaa1"},
		{"labels", psOptions{query: target.Query{Selector: byApp}}, "default/web/c"},
		{"another namespace", psOptions{query: target.Query{Namespace: "kube"}}, ""},
		{"a name", psOptions{all: true, name: regexp.MustCompile("^in")}, "default/web/init"},
		{"an image by its name", psOptions{all: true, image: "registry.test/seed"}, "default/lost/c default/web/init"},
		{"an image as it was asked for", psOptions{all: true, image: "busybox"}, "default/web/c aaaaaa1"},
	} {
		if c.o.name == nil {
			c.o.name = regexp.MustCompile("")
		}
		c.o.query.AllContainers = true
		found, err := c.o.named(listedPods())
		if err != nil {
			t.Error(err)
		}
		var words []string
		for _, f := range found {
			if f.ImageID == "sha256:5eed" {
				f.image = &images.Image{Image: pod.Image{ID: f.ImageID, RepoTags: []string{"registry.test/seed:1"}}}
			}
			if c.o.selects(f) && f.isOf(c.o.image) {
				words = append(words, f.cliName())
			}
		}
		if got := strings.Join(words, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

func TestPsShowsImageByName(t *testing.T) {
	l := &containerLister{env: &shell.Env{Now: func() time.Time { return testutil.Noon.Add(time.Minute) }}}
	c := &listedContainer{Container: listedPods()[0].Runtime.Containers[0], pod: listedPods()[0]}
	for _, want := range []string{"5eed", "registry.test/seed:1"} {
		cells := strings.Join(l.listing([]*listedContainer{c}).Items[0].Cells, " ")
		if cells != "default/lost c unknown 0 other 60s "+want+" bbbbbb0" {
			t.Errorf("%s, want %s", cells, want)
		}
		c.image = &images.Image{Image: pod.Image{ID: c.ImageID, RepoTags: []string{"registry.test/seed:1"}}}
	}
}
