package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/pty"
)

// On a terminal a pull shows for how long it has run, prune asks, and Ctrl-C ends the
// question. The image of a bare pod, without a kubelet's labels, counts as used, and its
// files are copied.
func TestImagesOnATerminal(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		registry := live.Registry(t)
		registry.Push(t, "used:1", "unused:1")
		place := at(t, rt)
		used, unused := registry.Image("used:1"), registry.Image("unused:1")
		terminal := func(args ...string) *pty.Terminal {
			return pty.Start(t, exec.Command(binary, append(place.flags(), args...)...))
		}

		registry.Slow(300 * time.Millisecond)
		pull := terminal("pull", "--registry-config", "none", used, unused)
		pull.Until("pulling 2 images, ")
		pull.Until("TOOK")
		if code := pull.Wait(); code != 0 {
			t.Fatalf("pull: exit %d\n%s", code, pull.Output())
		}
		matches(t, pull.Output(), `pulling 2 images, [0-9]+s`)

		client := dialBare(t, rt)
		p, err := client.Start(t.Context(), bare.Spec{Name: "bare", Image: used, Command: []string{"sh", "-c", "echo inside > /file; sleep 1000"}, LogDir: t.TempDir(), Unlabelled: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Remove(context.Background(), p) }) // it is gone if the test passes
		if found := place.images(used); len(found) != 1 || len(found[0].UsedBy) == 0 || found[0].UsedBy[0].Pod != "bare" {
			t.Errorf("images %s: %+v", used, found)
		}
		eventually(t, "a file of a bare pod is copied", func() bool {
			_, _, code := place.fed("", "cp", "bare:/file", place.path("copy"))
			return code == 0
		}, func() string { return "" })
		if data, err := os.ReadFile(place.path("copy")); err != nil || string(data) != "inside\n" {
			t.Errorf("copied %q: %v", data, err)
		}

		prune := terminal("prune")
		prune.Until("remove ")
		if text := prune.Output(); !strings.Contains(text, unused) || strings.Contains(text, used) {
			t.Errorf("prune lists:\n%s", text)
		}
		prune.Send("n" + pty.Enter)
		if code := prune.Wait(); code != 0 {
			t.Errorf("prune: exit %d", code)
		}
		prune = terminal("prune")
		prune.Until("[y/N]")
		prune.Send(pty.CtrlC)
		if code := prune.Wait(); code != 130 {
			t.Errorf("prune after Ctrl-C: exit %d", code)
		}
		if found := place.images(unused); len(found) != 1 {
			t.Errorf("%s was removed", unused)
		}

		if err := client.Remove(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if out, errw, code := place.fed("", "rmi", used, unused); code != 0 {
			t.Errorf("rmi: exit %d\n%s%s", code, out, errw)
		}
	})
}
