package e2e

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"

	internalpod "github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// runs runs a pod with a mount, and kills podctl.
func (g *leakGallery) runs(name string) (sandbox, container string) {
	t := g.p.t
	t.Helper()
	run := g.p.start(with("volumeMounts: [{name: data, mountPath: /v}]", pod(name, server, brief, "volumes: [{name: data, emptyDir: {medium: Memory}}]")), "-")
	run.prints("c started")
	run.signal(syscall.SIGKILL)
	<-run.done
	listed, err := g.finder.Client.ListPods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(listed, func(p *internalpod.Pod) bool { return p.Name == name })
	if i < 0 || len(listed[i].Sandboxes) != 1 || len(listed[i].Containers) != 1 {
		t.Fatalf("%s is not listed with a container", name)
	}
	return listed[i].Sandboxes[0].ID, listed[i].Containers[0].ID
}

// loses returns a maker of a pod. what, which may be nil, is done with its sandbox and its container
// while the runtime is dead.
func loses(what func(g *leakGallery, sandbox, container string)) func(*leakGallery, string) func() {
	return func(g *leakGallery, name string) func() {
		sandbox, container := g.runs(name)
		return func() {
			if what != nil {
				what(g, sandbox, container)
			}
		}
	}
}

// killsProcesses kills what runs in a pod, and its shims, which cannot clean up: the mounts remain.
func (g *leakGallery) killsProcesses(sandbox, container string) {
	g.p.t.Helper()
	processes, err := proc.Default.ByParent()
	if err != nil {
		g.p.t.Fatal(err)
	}
	for _, shim := range g.rt.Shims() {
		args, _ := proc.Default.Command(shim)
		line := strings.Join(args, " ")
		if !strings.Contains(line, sandbox) && !strings.Contains(line, container) {
			continue
		}
		_ = syscall.Kill(shim, syscall.SIGSTOP) // it must not clean up
		for _, child := range processes[shim] {
			_ = syscall.Kill(child.PID, syscall.SIGKILL)
		}
		if err := syscall.Kill(shim, syscall.SIGKILL); err != nil {
			g.p.t.Fatal(err)
		}
	}
}

// endsNetwork removes the network namespace of a pod, by the CNI cache.
func (g *leakGallery) endsNetwork(sandbox string) {
	g.p.t.Helper()
	netns := attachmentOf(g.p.t, g.rt, sandbox)
	if err := syscall.Unmount(netns, syscall.MNT_DETACH); err != nil {
		g.p.t.Fatal(err)
	}
	if err := os.Remove(netns); err != nil {
		g.p.t.Fatal(err)
	}
}

// killedInNetwork kills the runtime while a CNI plugin works for a pod, which is then let go on.
func (g *leakGallery) killedInNetwork(name string) (meanwhile func()) {
	g.p.t.Helper()
	g.network.Break(g.p.t, name, live.NetworkSleeps)
	go func() { _, _ = g.c.RunSandbox(g.p.t.Context(), bare.Spec{Name: name, Unlabelled: true}) }() // it fails
	eventually(g.p.t, "a CNI plugin works", func() bool {
		g.sandboxes[name] = g.pluginOf(name)
		return g.sandboxes[name] != ""
	}, func() string { return g.p.does("starting") })
	return func() {
		g.network.Mend(g.p.t)
		eventually(g.p.t, "the CNI plugin goes", func() bool { return g.pluginOf(name) == "" }, func() string { return "" })
	}
}

// pluginOf returns the id of the sandbox of a pod for which a CNI plugin works, "" if none does.
func (g *leakGallery) pluginOf(name string) (sandbox string) {
	pids, err := proc.Default.PIDs()
	if err != nil {
		g.p.t.Fatal(err)
	}
	for _, pid := range pids {
		env, err := proc.Default.Environ(pid, "CNI_ARGS", "CNI_CONTAINERID")
		if err == nil && strings.Contains(env["CNI_ARGS"], "K8S_POD_NAME="+name+";") {
			return env["CNI_CONTAINERID"]
		}
	}
	return ""
}

// abandons runs a pod, and removes it by CRI calls when podctl has been killed.
func (g *leakGallery) abandons(name string) (meanwhile func()) {
	g.p.t.Helper()
	sandbox, _ := g.runs(name)
	err := g.finder.Client.StopPodSandbox(g.p.t.Context(), sandbox)
	if err := errors.Join(err, g.finder.Client.RemovePodSandbox(g.p.t.Context(), sandbox)); err != nil {
		g.p.t.Fatal(err)
	}
	return nil
}
