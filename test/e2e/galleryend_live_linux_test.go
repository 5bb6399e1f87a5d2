package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/podctl/podctl/test/live"
)

const longGrace = "terminationGracePeriodSeconds: 300"

// endFaults: what a pod that terminates waits for.
var endFaults = []fault{
	{
		pod: "deaf", what: "the program ignores SIGTERM", command: "terminating", layer: "process", evidence: `ignores SIGTERM`,
		manifest: func(_ *gallery, name string) string { return pod(name, `trap "" TERM; `+forever, longGrace) },
		then: func(g *gallery, name string) {
			p := g.process(name)
			g.mended(func() { _ = syscall.Kill(p.PID, syscall.SIGKILL) })
			g.takes(name)
		},
	},
	{
		pod: "prestop", what: "a preStop hook does not end", command: "terminating", layer: "hook", evidence: `(?i)preStop hook`,
		manifest: func(g *gallery, name string) string {
			return with("lifecycle: {preStop: "+g.hook(name)+"}", g.marked(name, server, longGrace))
		},
		then: func(g *gallery, name string) {
			g.process(name)
			g.takes(name)
		},
	},
	{
		pod: "frozen", what: "the cgroup is frozen", command: "terminating", layer: "cgroup", evidence: `frozen`,
		manifest: func(_ *gallery, name string) string { return pod(name, server, longGrace) },
		then: func(g *gallery, name string) {
			file, thawed := live.Freeze(g.t, g.process(name).PID)
			g.mended(func() { _ = os.WriteFile(file, []byte(thawed), 0) })
			g.takes(name)
		},
	},
	{
		pod: "shim-at-stop", what: "the shim is stopped by a signal while the pod stops", command: "terminating", layer: "shim", evidence: `is stopped`,
		manifest: func(_ *gallery, name string) string { return pod(name, server, longGrace) },
		then: func(g *gallery, name string) {
			g.stops(g.process(name).Parent)
			g.takes(name)
		},
	},
	{
		pod: "busy-volume", what: "a process of the host uses a volume", command: "terminating", layer: "volume", evidence: `volumes/kubernetes.io~empty-dir/busy-volume`,
		manifest: func(_ *gallery, name string) string {
			return with("volumeMounts: [{name: "+name+", mountPath: /v}]", pod(name, server, brief, "volumes: [{name: "+name+", emptyDir: {medium: Memory}}]"))
		},
		then: func(g *gallery, name string) {
			g.process(name)
			g.uses(name)
			g.takes(name)
		},
	},
	{
		pod: "cni-stays", what: "a CNI plugin cannot remove the network", command: "terminating", layer: "network", evidence: `network`,
		missed:   map[string]string{"kubelet on crio": "CRI-O keeps the sandbox ready, and only the kubelet's log has the error"},
		manifest: func(_ *gallery, name string) string { return pod(name, server, brief) },
		then: func(g *gallery, name string) {
			g.process(name)
			g.network.Break(g.t, name+g.suffix, live.NetworkStays)
			g.takes(name)
		},
	},
}

// stops stops a process.
func (g *gallery) stops(pid int) {
	g.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		g.t.Fatal(err)
	}
	resume := func() { _ = syscall.Kill(pid, syscall.SIGCONT) }
	g.mended(resume)
	g.t.Cleanup(resume)
}

// uses starts a process on the host whose directory is a volume of that name.
func (g *gallery) uses(volume string) {
	g.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(g.root, "pods/*/volumes/kubernetes.io~empty-dir", volume))
	if err != nil || len(dirs) != 1 {
		g.t.Fatalf("volumes %q: %v", dirs, err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Dir = dirs[0]
	if err := cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // twice has no effect
	}
	g.mended(end)
	g.t.Cleanup(end)
}
