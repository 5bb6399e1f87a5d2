package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// An agent keeps logs small without losing a line, terminates unknown pods if it
// is configured to but not those of a living podctl, and removes the images that no container uses
// when the disk counts as full.
func TestAgentCollectsGarbage(t *testing.T) {
	live.EachOf(t, []string{live.Containerd}, func(t *testing.T, rt *live.Instance) {
		t.Parallel()
		a := withAgent(t, rt)
		registry := live.Registry(t)
		push(t, registry.Image("unused:1"))
		c := dialBare(t, rt)
		if _, err := c.Pull(t.Context(), registry.Image("unused:1"), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Start(t.Context(), bare.Spec{Name: "stranger", Image: image.BusyboxName, Command: []string{"sleep", "3600"}, LogDir: t.TempDir(), Unlabelled: true}); err != nil {
			t.Fatal(err)
		}
		beside := a.start(a.marking("mine", "1"), "-")
		a.wrote("mine", "up1")
		before := a.images()
		if !slices.ContainsFunc(before, func(name string) bool { return strings.Contains(name, "unused") }) {
			t.Fatalf("images %q", before)
		}

		a.put("loud.yaml", a.marked("loud", `n=0; while [ $n -lt 400 ]; do n=$((n+1)); echo line $n; done; echo wrote >> /mark/loud; while [ ! -e /mark/go ]; do sleep 0.1; done; echo last line; echo wrote >> /mark/loud; `+forever, "terminationGracePeriodSeconds: 1"))
		agent := a.agent("--drain", "--adopt-runtime", "kill", "--container-log-max-size", "4Ki",
			"--image-gc-high-threshold", "1", "--image-gc-low-threshold", "0", "--minimum-image-ttl-duration", "0s")
		a.wrote("loud", "wrote")
		a.holds("loud", "mine")
		a.wrote("mine", "up1")
		eventually(t, "the unused image goes", func() bool {
			return !slices.ContainsFunc(a.images(), func(name string) bool { return strings.Contains(name, "unused") })
		}, func() string { return fmt.Sprint(a.images()) })
		if now := a.images(); !slices.ContainsFunc(now, func(name string) bool { return strings.Contains(name, "busybox") }) {
			t.Errorf("a used image is gone: %q", now)
		}

		eventually(t, "the log is rotated", func() bool { return len(a.logs()) == 2 }, func() string { return fmt.Sprint(a.logs()) })
		a.touch("go")
		a.wrote("loud", "wrote", "wrote")
		var said int
		eventually(t, "the runtime has logged 401 lines", func() bool {
			said = 0
			for _, path := range a.logs() {
				lines, err := logs.Collect(path, logs.Options{Tail: 1000, OneFile: true})
				if err != nil {
					t.Error(err)
				}
				said += len(lines)
			}
			return said >= 401
		}, func() string { return fmt.Sprintf("%d lines in %q", said, a.logs()) })
		if said != 401 {
			t.Errorf("%d lines in %q, want 401", said, a.logs())
		}
		beside.ends(syscall.SIGTERM, 130)
		agent.ends(syscall.SIGTERM, 0)
	}, live.Private())
}

// push pushes an image that is like no other.
func push(t *testing.T, to string) {
	t.Helper()
	img, err := image.Busybox()
	if err != nil {
		t.Fatal(err)
	}
	if img, err = mutate.Config(img, v1.Config{Labels: map[string]string{"like": "no other"}}); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
}

// logs are the log files of the container of the pod loud.
func (a *agentPlace) logs() []string {
	a.t.Helper()
	files, err := filepath.Glob(a.path("logs") + "/default_loud_*/c/*")
	if err != nil {
		a.t.Fatal(err)
	}
	return files
}

// images are the names of all images that the runtime holds.
func (a *agentPlace) images() []string {
	a.t.Helper()
	images, err := a.client.ListImages(a.t.Context())
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, i := range images {
		names = append(names, i.RepoTags...)
	}
	return names
}

func (a *agentPlace) touch(mark string) {
	a.t.Helper()
	if err := os.WriteFile(filepath.Join(a.path("mark"), mark), nil, 0o600); err != nil {
		a.t.Fatal(err)
	}
}
