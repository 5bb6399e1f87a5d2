package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// runtimeFaults: the runtime, its shims or its disk fail.
var runtimeFaults = []fault{
	{
		pod: "shim-at-start", what: "the shim is stopped by a signal while the pod starts", command: "starting", layer: "shim", evidence: `is stopped`,
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Throttle(layerBytes / 1000) }),
		then:     (*gallery).stopShim,
	},
	{
		pod: "name-reserved", what: "another call makes a sandbox of its name, and a CNI plugin sleeps", command: "starting", layer: "network", step: "network", evidence: `CNI plugin bridge \(pid \d+.*\) add has been running for`,
		manifest: func(g *gallery, name string) string {
			g.network.Break(g.t, name+g.suffix, live.NetworkSleeps)
			g.reserve(name)
			return strings.Replace(pod(name, server, brief), "metadata: {", "metadata: {uid: "+reservedUID+", ", 1)
		},
	},
	{
		pod: "runtime-stopped", what: "the runtime is stopped by a signal", command: "starting", layer: "runtime", evidence: `is stopped`, alone: true,
		manifest: breaksNetwork(live.NetworkSleeps),
		then:     func(g *gallery, _ string) { g.stops(g.rt.PID(g.t)) },
	},
	{
		pod: "runtime-killed", what: "the runtime is killed in RunPodSandbox", command: "starting", layer: "runtime", evidence: `EOF|connection refused|no such file`, alone: true, leaks: true,
		manifest: breaksNetwork(live.NetworkSleeps),
		then: func(g *gallery, name string) {
			g.hasPlugin(name)
			g.rt.Kill(g.t)
			g.mended(func() { g.rt.Start(g.t) })
		},
	},
	{
		pod: "runtime-restarted", what: "the runtime is killed in RunPodSandbox and started again, and a CNI plugin sleeps", command: "starting", layer: "network", also: "runtime", step: "network", evidence: `CNI plugin bridge`, alone: true, leaks: true,
		manifest: breaksNetwork(live.NetworkSleeps),
		then: func(g *gallery, name string) {
			g.hasPlugin(name)
			g.rt.Restart(g.t)
		},
	},
	{
		pod: "full-disk", what: "the disk of the runtime is full", command: "starting", layer: "disk", evidence: `no space left on device`, alone: true,
		manifest: func(g *gallery, name string) string {
			fill := filepath.Join(g.disk, "fill")
			if err := os.Mkdir(fill, 0o700); err != nil {
				g.t.Fatal(err)
			}
			if err := fills["blocks"](g.disk); !errors.Is(err, syscall.ENOSPC) {
				g.t.Fatal(err)
			}
			g.mended(func() { _ = os.RemoveAll(fill) })
			return pod(name, server, brief)
		},
	},
}

// stopShim stops the shim of the pod's container, or of its sandbox where containers have none
// of their own.
func (g *gallery) stopShim(name string) {
	g.t.Helper()
	eventually(g.t, name+" has a sandbox", func() bool { return len(g.listed(name).Sandboxes) > 0 }, func() string { return g.does("pods") })
	arrives := func() { g.registries[name].Throttle(0) } // the image, whose container is then started
	if strings.HasSuffix(g.column, live.Containerd) {
		g.mended(g.rt.StopShim(g.t, "-id "+g.listed(name).Sandboxes[0].ID))
		arrives()
		return
	}
	arrives()
	g.mended(g.rt.StopShim(g.t, "k8s_c_"+name))
}

// hasPlugin waits until a CNI plugin works for the pod.
func (g *gallery) hasPlugin(name string) {
	g.t.Helper()
	eventually(g.t, "a plugin works for "+name, func() bool {
		found := g.lists("starting")[name+g.suffix]
		return found != nil && found.Step == "network"
	}, func() string { return g.does("starting") })
}

const reservedUID = "0d4a1c7e-5b1f-4a55-9c1e-2f6d5f3b7a10"

// reserve lets another client make a sandbox of the pod's name and UID until faults are mended.
func (g *gallery) reserve(name string) {
	g.t.Helper()
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name + g.suffix, Namespace: "default", Uid: reservedUID},
		Linux:    &runtimeapi.LinuxPodSandboxConfig{CgroupParent: bare.CgroupParent()},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if id, err := g.client.RunPodSandbox(g.t.Context(), config, ""); err == nil {
			_ = g.client.StopPodSandbox(g.t.Context(), id)
			_ = g.client.RemovePodSandbox(g.t.Context(), id)
		}
	}()
	g.mended(func() { <-done })
}
