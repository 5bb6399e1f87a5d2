package e2e

import "testing"

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
			old := p.marks("job")
			out, errw, code := p.run(p.marked(name, "echo new >> /mark/job", never), "-")
			if code != 0 || errw != "" {
				t.Errorf("exit %d\n%s%s", code, out, errw)
			}
			p.has("job", append(old, "new")...)
		})
}
