package starting

import (
	"regexp"
	"strings"

	"github.com/podctl/podctl/internal/pods/diagnose"
)

// textCause is what a text of a runtime or of a kubelet shows. step is "" if the text shows
// no other one than that in which the pod is.
type textCause struct {
	layer diagnose.Layer
	step  Step
}

// textRule is a row: the cause of a text that contains one of the parts, in lower case.
type textRule struct {
	textCause
	parts []string
}

// outage is what a client of the runtime says of one that has gone.
var outage = textRule{textCause{layer: diagnose.LayerRuntime}, []string{"error reading from server", "transport: error while dialing"}}

// textRules are the rules for errors of any step; the first that matches decides. Words of
// runtimes, of runc and crun, of CNI plugins and of the kubelet.
var textRules = []textRule{
	outage,
	{textCause{layer: diagnose.LayerDisk}, []string{"no space left on device", "disk quota exceeded"}},
	{textCause{layer: diagnose.LayerRuntime}, []string{"is reserved for", "failed to reserve sandbox name", "failed to reserve container name", "name is reserved", "reserving pod name", "reserving ctr name"}},
	{textCause{diagnose.LayerKernel, StepStart}, []string{"oom-killed", "memory limit too low", "out of memory"}},
	{textCause{layer: diagnose.LayerRuntime, step: StepSandbox}, []string{"no runtime for", "runtime handler", "runtimehandler", "runtimeclass"}},
	{textCause{diagnose.LayerNetwork, StepNetwork}, []string{"network for sandbox", "to cni network", "network sandbox", "plugin type=", "cni plugin", "network plugin", "network is not ready", "networkunavailable", "no ip addresses available", "failed to allocate for range"}},
	{textCause{diagnose.LayerApplication, StepStart}, []string{"exec format error", "executable file", `exec: "`, `exec: \"`}},
	{textCause{diagnose.LayerDevice, StepDevice}, []string{"cdi device", "devices unavailable", "custom device", "gathering device information", "no such device"}},
	{textCause{diagnose.LayerConfig, StepObject}, []string{"non-existent secret key", "non-existent config key", "couldn't find key", "secret \"", "configmap \"", "service account", "serviceaccount"}},
	{textCause{diagnose.LayerVolume, StepVolume}, []string{"mountvolume.", "hostpath type check", "unmounted volumes", "attach or mount volumes", "mount volumes:"}},
	{textCause{layer: diagnose.LayerVolume}, []string{"error mounting", "mount failed", "subpath", "failed to stat \"", "failed to mkdir"}},
	{textCause{layer: diagnose.LayerCgroup}, []string{"cgroup"}},
	{textCause{layer: diagnose.LayerConfig}, []string{"apparmor", "seccomp", "selinux", "runasnonroot", "non-root", "runasuser", "capabilit"}},
	{textCause{diagnose.LayerHook, StepHook}, []string{"lifecycle hook", "poststarthook"}},
}

// pullTexts are the rules for errors of a pull: a registry that refuses or does not answer,
// before an image that is not there. Registries answer 401 for either.
var pullTexts = []textRule{
	outage,
	{textCause{layer: diagnose.LayerDisk}, []string{"no space left on device", "disk quota exceeded"}},
	{textCause{diagnose.LayerImage, StepPull}, []string{"pull policy of never", "errimageneverpull", "no match for platform", "no image found in", "extract layer", "invalid tar header", "invalid reference", "invalidimagename", "parse image", "default image tag", "repository name must", "signature"}},
	{textCause{diagnose.LayerRegistry, StepPull}, []string{
		" 401", " 403", "unauthorized", "authorization", "authentication", "denied", "forbidden", " 429", "too many requests", "toomanyrequests", " 500", " 502", " 503", " 504", "registryunavailable",
		"connection refused", "connection reset", "no such host", "timeout", "deadline exceeded", "no route to host", "network is unreachable", "dial tcp", "tls:", "x509", "http response to https",
		"eof", "short read", "failed size validation", "digest", "pull progress", "no progress",
	}},
	{textCause{diagnose.LayerImage, StepPull}, []string{"not found", "manifest unknown", "name unknown", "does not exist", " 404", "no such image"}},
}

// classify returns what a text shows of a pod in a step; known is false if that is nothing.
func classify(text string, step Step) (cause textCause, known bool) {
	rules := textRules
	if step == StepPull {
		rules = pullTexts
	}
	text = strings.ToLower(text)
	for _, r := range rules {
		for _, part := range r.parts {
			if strings.Contains(text, part) {
				return r.textCause, true
			}
		}
	}
	return textCause{}, false
}

// reserved is what containerd and CRI-O say of a name that another sandbox or container has. In
// a kubelet's log it is quoted again.
var reserved = regexp.MustCompile(`name [\\"]*([^\\"\s]+)[\\"]* is reserved for [\\"]*([0-9a-f]{8,64})`)

// reservedFor returns the id that has the name, and the name; "" if the text is not about one.
func reservedFor(text string) (id, name string) {
	m := reserved.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	return m[2], m[1]
}
