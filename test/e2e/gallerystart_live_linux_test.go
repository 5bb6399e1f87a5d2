package e2e

import (
	"net/http"
	"strings"
	"time"

	"github.com/podctl/podctl/test/live"
)

// networkFaults: the CNI plugin of the runtime fails for the pod.
var networkFaults = []fault{
	{
		pod: "cni-sleeps", what: "a CNI plugin sleeps", command: "starting", layer: "network", step: "network", evidence: `^CNI plugin bridge \(pid \d+.*\) add has been running for`,
		manifest: breaksNetwork(live.NetworkSleeps),
	},
	{
		pod: "cni-exits", what: "a CNI plugin exits with 1", command: "starting", layer: "network", step: "network", evidence: "the fabric controller does not know this node",
		manifest: breaksNetwork(live.NetworkExits),
	},
	{
		pod: "cni-no-address", what: "a CNI plugin finds no free address", command: "starting", layer: "network", step: "network", evidence: "no IP addresses available",
		manifest: breaksNetwork(live.NetworkNoAddress),
	},
}

func breaksNetwork(f live.NetworkFault) func(*gallery, string) string {
	return func(g *gallery, name string) string {
		g.network.Break(g.t, name+g.suffix, f)
		return pod(name, server, brief)
	}
}

// registryFaults: the registry of the pod's image fails.
var registryFaults = []fault{
	{
		pod: "registry-silent", what: "a registry answers nothing", command: "starting", layer: "registry", step: "pull", evidence: "pull of .*registry-silent",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Slow(time.Hour) }),
	},
	{
		pod: "registry-stalls", what: "a registry sends half a layer, and then nothing", command: "starting", layer: "registry", step: "pull", evidence: "pull of .*registry-stalls",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Halve(live.Stalls) }),
	},
	{
		pod: "registry-breaks", what: "a registry closes the connection after half a layer", command: "starting", layer: "registry", step: "pull", evidence: "(?i)EOF|size validation|short read|connection",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Halve(live.Breaks) }),
	},
	{
		pod: "registry-401", what: "a registry answers 401", command: "starting", layer: "registry", step: "pull", evidence: "(?i)401|unauthorized|authorization|authentication",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.RequirePassword("user", secretValue) }),
	},
	{
		pod: "registry-404", what: "a registry answers 404", command: "starting", layer: "image", step: "pull", evidence: "(?i)404|not found|manifest unknown",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Fail(http.StatusNotFound) }),
	},
	{
		pod: "registry-429", what: "a registry answers 429", command: "starting", layer: "registry", step: "pull", evidence: "(?i)429|too ?many ?requests",
		manifest: pullsFrom(func(r *live.ImageRegistry) { r.Fail(http.StatusTooManyRequests) }),
	},
}

// layerBytes is the size of a layer that takes a while.
const layerBytes = 1 << 20

func pullsFrom(broken func(*live.ImageRegistry)) func(*gallery, string) string {
	return func(g *gallery, name string) string {
		manifest := g.pulls(name)
		broken(g.registries[name])
		return manifest
	}
}

// pulls returns a pod of an image of its own registry.
func (g *gallery) pulls(name string) string {
	g.t.Helper()
	registry := live.Registry(g.t)
	g.registries[name] = registry
	registry.PushLarge(g.t, name+":1", layerBytes)
	g.mended(func() {
		registry.Fail(http.StatusNotFound)
		registry.Disconnect()
	})
	return strings.Replace(pod(name, server, brief), "docker.io/library/busybox:latest", registry.Image(name+":1"), 1)
}
