package main

import (
	"regexp"
	"strings"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// simPod is a pod that somebody else runs: by the bare calls of the runtime.
type simPod struct {
	w       *world
	sandbox string
	config  *runtimeapi.PodSandboxConfig
}

// pod runs a sandbox. labels are of the form key=value.
func (w *world) pod(namespace, name string, labels ...string) *simPod {
	w.t.Helper()
	uid := "uid-" + name
	p := &simPod{w: w, config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: namespace, Name: name, Uid: uid},
		Labels:   map[string]string{pod.NamespaceLabel: namespace, pod.NameLabel: name, pod.UIDLabel: uid},
	}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		p.config.Labels[key] = value
	}
	r, err := w.sim.RunPodSandbox(w.t.Context(), &runtimeapi.RunPodSandboxRequest{Config: p.config})
	if err != nil {
		w.t.Fatal(err)
	}
	p.sandbox = r.PodSandboxId
	return p
}

// start creates and starts a container, and returns its id.
func (p *simPod) start(name string, command ...string) string {
	p.w.t.Helper()
	r, err := p.w.sim.CreateContainer(p.w.t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: p.config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: command,
			Labels: map[string]string{
				pod.NamespaceLabel: p.config.Metadata.Namespace, pod.NameLabel: p.config.Metadata.Name,
				pod.UIDLabel: p.config.Metadata.Uid, pod.ContainerNameLabel: name,
			},
		},
	})
	if err == nil {
		_, err = p.w.sim.StartContainer(p.w.t.Context(), &runtimeapi.StartContainerRequest{ContainerId: r.ContainerId})
	}
	if err != nil {
		p.w.t.Fatal(err)
	}
	return r.ContainerId
}

// remove takes the pod away, as crictl rmp --force does.
func (p *simPod) remove() {
	p.w.t.Helper()
	if _, err := p.w.sim.RemovePodSandbox(p.w.t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.sandbox}); err != nil {
		p.w.t.Fatal(err)
	}
}

// watch starts `podctl pleg watch`, and lets it see what there is.
func (w *world) watch(flags ...string) *command {
	c := w.start(nil, append([]string{"pleg", "watch"}, flags...)...)
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	return c
}

// lines asserts what was printed since the last time, without the times in
// front and with one space between columns.
func (c *command) lines(want ...string) {
	c.t.Helper()
	if got := c.more(); got != strings.Join(want, "\n") {
		c.t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// linesMatch is lines of which each is a regular expression.
func (c *command) linesMatch(want ...string) {
	c.t.Helper()
	if got := c.more(); !regexp.MustCompile("^" + strings.Join(want, "\n") + "$").MatchString(got) {
		c.t.Errorf("printed\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// more is what was printed since the last time.
func (c *command) more() string {
	text := c.out.String()[c.read:]
	c.read += len(text)
	var lines []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if _, err := time.Parse("15:04:05.000", fields[0]); err == nil {
			fields = fields[1:]
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return strings.Join(lines, "\n")
}

const watchHeader = "TIME POD EVENT CONTAINER DETAIL SOURCE LAG"

// stopped interrupts, asserts exit code 0, and the summary after its time.
func (c *command) stopped(summary string) {
	c.t.Helper()
	c.interrupt()
	c.ends(exitOK, time.Second)
	c.lines(summary)
	c.silent()
}
