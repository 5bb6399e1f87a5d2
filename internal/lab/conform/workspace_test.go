package conform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
)

// Pods are removed by their mark: no other directory may have it, whatever its path.
func TestMarkIsThatOfADirectoryNotOfItsPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "conform")
	seen := map[string]bool{}
	for range 2 {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		mark, err := markOf(dir)
		if again, err2 := markOf(dir); len(mark) != 2*markSize || again != mark || err != nil || err2 != nil || seen[mark] {
			t.Errorf("%q, then %q, %v, %v", mark, again, err, err2)
		}
		seen[mark] = true
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMarkThatIsNoneIsDrawnAgain(t *testing.T) {
	for _, text := range []string{"", "12", "zzzzzzzzzzzz", "123456789012345678"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "mark"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		mark, err := markOf(dir)
		if again, _ := markOf(dir); err != nil || len(mark) != 2*markSize || again != mark {
			t.Errorf("%q: %q, then %q, %v", text, mark, again, err)
		}
	}
}

func TestImageThatRuns(t *testing.T) {
	image := func(tags ...string) *pod.Image { return &pod.Image{RepoTags: tags} }
	for _, c := range []struct {
		images  []*pod.Image
		sandbox string
		want    string
	}{
		{[]*pod.Image{image("registry.k8s.io/pause:3.10"), image("docker.io/library/busybox:1.37")}, "", "docker.io/library/busybox:1.37"},
		{[]*pod.Image{image("registry.k8s.io/pause:3.10"), image("localhost:5000/my/app:1")}, "", "registry.k8s.io/pause:3.10"},
		{[]*pod.Image{image("example.com/base/sandbox:1")}, "example.com/base/sandbox:1", "example.com/base/sandbox:1"},
		{[]*pod.Image{image("docker.io/library/nginx:1"), image()}, "", ""},
	} {
		got, err := imageThatRuns(c.images, c.sandbox)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("of %v: %q, %v; want %q", c.images[0].RepoTags, got, err, c.want)
		}
	}
}

func TestHandlerThatTheRuntimeDoesNotListIsRefused(t *testing.T) {
	listed := cri.RuntimeStatus{Handlers: []cri.Handler{{Name: ""}, {Name: "crun", UserNamespaces: true}}}
	for _, c := range []struct {
		status cri.RuntimeStatus
		name   string
		want   cri.Handler
		err    string
	}{
		{listed, "crun", listed.Handlers[1], ""},
		{listed, "", listed.Handlers[0], ""},
		{listed, "kata", cri.Handler{}, `handler "kata": the runtime has (default), crun`},
		{cri.RuntimeStatus{}, "kata", cri.Handler{}, ""}, // older runtimes do not list them
	} {
		got, err := handlerOf(c.status, c.name)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if got != c.want || said != c.err {
			t.Errorf("%q: %+v, %q; want %+v, %q", c.name, got, said, c.want, c.err)
		}
	}
}
