package e2e

import (
	"strings"
	"testing"
)

// What a killed podctl left of a pod is removed although that pod is not desired
// any more: the next podctl of its name removes it.
func TestLeftoversOfAnEarlierManifestAreRemoved(t *testing.T) {
	eachStep(t, []string{"during RunPodSandbox", "after RunPodSandbox", "after RemoveContainer", "after RemovePodSandbox"},
		func(t *testing.T, p *place, when, method string) {
			name := podName(when, method)
			kill := p.killAt(when, method)
			first := p.start(p.marked(name, "echo old >> /mark/job", never), "-")
			kill <- first
			if code := first.wait(); code != -1 {
				t.Fatalf("podctl was not killed: exit %d", code)
			}
			want := p.marks("job")
			// While another podctl has yet to find its pods, as those of the other steps when they
			// begin, it may have this one: podctl says that it leaves the files for later.
			for later := true; later && !t.Failed(); {
				out, errw, code := p.run(p.marked(name, "echo new >> /mark/job", never), "--debug", "-")
				if code != 0 {
					t.Errorf("exit %d\n%s%s", code, out, errw)
				}
				want = append(want, "new")
				p.has("job", want...)
				later = strings.Contains(errw, "remove leftover files later")
			}
		})
}
