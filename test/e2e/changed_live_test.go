package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// The old pod terminates completely before the new one starts, although no podctl was there
// when the manifest changed.
func TestManifestChangedWhilePodctlWasDead(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).proxied()
		first := p.start(p.service("web"), "-")
		p.gets(1)
		first.prints("c started") // else the runtime may call the start off
		first.signal(syscall.SIGKILL)
		first.wait()
		p.proxy.Take()
		out, errw, code := p.run(p.marked("web", "echo new >> /mark/service", never), "-")
		if code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		p.has("service", "up", "down", "end", "new")
		p.called("StopContainer", "StopPodSandbox", "RemoveContainer", "RemovePodSandbox",
			"RunPodSandbox", "CreateContainer", "StartContainer",
			"StopPodSandbox", "RemoveContainer", "RemovePodSandbox")
	})
}

// called asserts which calls changed something, in order, but for repeats.
func (p *place) called(want ...string) {
	p.t.Helper()
	var got []string
	for _, c := range p.proxy.Take() {
		if !c.IsRead() {
			got = append(got, c.Method)
		}
	}
	if got = slices.Compact(got); !slices.Equal(got, want) {
		p.t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestManifestRewrittenBetweenRuns(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		service := func(n int) string {
			return p.marked("web", fmt.Sprintf(`trap "echo down%d >> /mark/service; exit 0" TERM; echo up%d >> /mark/service; `+forever, n, n))
		}
		const versions = 4
		var want []string
		for n := range versions {
			keep := p.start(service(n), "--keep", "-")
			p.gets(2*n + 1)
			keep.signal(syscall.SIGINT)
			if code := keep.wait(); code != 130 {
				out, errw := keep.output()
				t.Errorf("version %d: exit %d\n%s%s", n, code, out, errw)
			}
			want = append(want, fmt.Sprintf("up%d", n), fmt.Sprintf("down%d", n))
			p.has("service", want[:len(want)-1]...)
		}
		last := p.start(service(versions-1), "-")
		last.prints("already holds the pod")
		last.signal(syscall.SIGINT)
		last.wait()
		p.has("service", want...)
	})
}
