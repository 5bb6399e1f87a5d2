package main

import (
	"context"
	"net"
	"regexp"
	"strings"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/pod"
)

// simPod is a pod that is created by plain runtime calls.
type simPod struct {
	sim     *sim.Runtime
	check   func(error)
	sandbox string
	config  *runtimeapi.PodSandboxConfig
}

// newSimPod runs a sandbox. labels are of the form key=value.
func newSimPod(runtime *sim.Runtime, check func(error), namespace, name string, labels ...string) *simPod {
	uid := "uid-" + name
	p := &simPod{sim: runtime, check: check, config: &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: namespace, Name: name, Uid: uid},
		Labels:   map[string]string{pod.NamespaceLabel: namespace, pod.NameLabel: name, pod.UIDLabel: uid},
	}}
	for _, l := range labels {
		key, value, _ := strings.Cut(l, "=")
		p.config.Labels[key] = value
	}
	r, err := runtime.RunPodSandbox(context.Background(), &runtimeapi.RunPodSandboxRequest{Config: p.config})
	check(err)
	p.sandbox = r.GetPodSandboxId()
	return p
}

// start creates and starts a container, and returns its id.
func (p *simPod) start(name string, command ...string) string {
	ctx := context.Background()
	r, err := p.sim.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{
		PodSandboxId: p.sandbox, SandboxConfig: p.config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: name}, Image: &runtimeapi.ImageSpec{Image: "busybox"}, Command: command,
			Labels: map[string]string{
				pod.NamespaceLabel: p.config.Metadata.Namespace, pod.NameLabel: p.config.Metadata.Name,
				pod.UIDLabel: p.config.Metadata.Uid, pod.ContainerNameLabel: name,
			},
		},
	})
	p.check(err)
	_, err = p.sim.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: r.GetContainerId()})
	p.check(err)
	return r.GetContainerId()
}

// remove takes the pod away, as crictl rmp --force does.
func (p *simPod) remove() {
	_, err := p.sim.RemovePodSandbox(context.Background(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: p.sandbox})
	p.check(err)
}

// pod runs a pod in the world's runtime.
func (w *world) pod(namespace, name string, labels ...string) *simPod {
	w.t.Helper()
	return newSimPod(w.sim, func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}, namespace, name, labels...)
}

// simulateCommand is testscript's `simulate SOCKET`: a runtime with the pods
// default/web, which runs, and kube/job, whose container has exited 3.
func simulateCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: simulate SOCKET")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	runtime := sim.New(sim.Options{})
	newSimPod(runtime, ts.Check, "default", "web", "app=web").start("web", "sleep", "3600")
	newSimPod(runtime, ts.Check, "kube", "job").start("job", "sh", "-c", "exit 3")
	ended := make(chan error, 1)
	go func() { ended <- runtime.Serve(l) }()
	ts.Defer(func() { l.Close(); <-ended; runtime.Close() })
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
	c.ends(shell.ExitOK, time.Second)
	c.lines(summary)
	c.silent()
}
