package e2e

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// fed runs any command with standard input to its end and returns its output and exit code.
func (p *place) fed(stdin string, args ...string) (out, errw string, code int) {
	p.t.Helper()
	proc := p.command(stdin, exec.Command(binary, append(p.flags(), args...)...))
	code = proc.wait()
	out, errw = proc.output()
	return out, errw, code
}

// image is one of `podctl images -o json`.
type imageJSON struct {
	ID       string   `json:"id"`
	RepoTags []string `json:"repoTags"`
	Size     uint64   `json:"size"`
	Pinned   bool     `json:"pinned"`
	UsedBy   []struct {
		Namespace, Pod, Container, State string
	} `json:"usedBy"`
}

func (p *place) images(args ...string) []imageJSON {
	p.t.Helper()
	out, errw, code := p.fed("", append([]string{"images", "-o", "json"}, args...)...)
	if code != 0 {
		p.t.Fatalf("images: exit %d\n%s", code, errw)
	}
	var all []imageJSON
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return all
}

// Images are pulled with credentials from standard input, listed with the pods that use
// them, and removed only while nothing uses them; the image of sandboxes never is.
func TestImagesArePulledListedAndRemoved(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t)
		registry.Push(t, "team/app:1", "team/unused:1")
		registry.RequirePassword("me", secretValue)
		place := at(t, rt)
		app, unused := registry.Image("team/app:1"), registry.Image("team/unused:1")

		out, errw, code := place.fed("", "pull", "--registry-config", "none", app)
		if code != 1 || out != "" {
			t.Errorf("pull without credentials: exit %d\n%s%s", code, out, errw)
		}
		out, errw, code = place.fed("me:"+secretValue+"\n", "pull", "--creds", "-", "-o", "json", "--debug", app, unused)
		if code != 0 || strings.Contains(out+errw, secretValue) {
			t.Fatalf("pull: exit %d\n%s%s", code, out, errw)
		}
		var pulled []struct {
			Image, ID string
			Size      uint64
		}
		if err := json.Unmarshal([]byte(out), &pulled); err != nil || len(pulled) != 2 || pulled[0].Image != app || pulled[0].ID == "" || pulled[0].Size == 0 {
			t.Errorf("pull: %v\n%s", err, out)
		}

		proc := place.start(strings.Replace(pod("web", server, brief), "docker.io/library/busybox:latest", app, 1), "-")
		proc.prints("c started")
		found := place.images(app)
		if len(found) != 1 || !slices.ContainsFunc(found[0].UsedBy, func(u struct{ Namespace, Pod, Container, State string }) bool {
			return u.Namespace == "default" && u.Pod == "web" && u.Container == "c" && u.State == "running"
		}) {
			t.Errorf("images %s: %+v", app, found)
		}
		_, errw, code = place.fed("", "rmi", app)
		if code != 1 || !strings.Contains(errw, "in use by default/web") {
			t.Errorf("rmi of an image in use: exit %d\n%s", code, errw)
		}
		_, errw, code = place.fed("", "rmi", "--force", "podctl.local/pause:1")
		if code != 1 || !strings.Contains(errw, "keeps this image for its sandboxes") {
			t.Errorf("rmi of the image of sandboxes: exit %d\n%s", code, errw)
		}
		proc.signal(syscall.SIGINT)
		proc.wait()

		out, errw, code = place.fed("", "prune", "--dry-run", "-o", "name")
		if code != 0 || !strings.Contains(out, app) || !strings.Contains(out, unused) || strings.Contains(out, "pause") {
			t.Errorf("prune --dry-run: exit %d\n%s%s", code, out, errw)
		}
		out, errw, code = place.fed("", "rmi", "-o", "name", app, registry.Image("team/unused*"))
		if code != 0 || !strings.Contains(out, app) {
			t.Errorf("rmi: exit %d\n%s%s", code, out, errw)
		}
		for _, i := range place.images() {
			if slices.Contains(i.RepoTags, app) || slices.Contains(i.RepoTags, unused) {
				t.Errorf("%v was not removed", i.RepoTags)
			}
		}
	})
}
