package why

import (
	"regexp"
	"strings"
)

// textCause is what a text of a runtime or of a kubelet shows. step is "" if the text shows
// no other one than that in which the pod is.
type textCause struct {
	layer Layer
	step  Step
}

// textRule is a row: the cause of a text that contains one of the parts, in lower case.
type textRule struct {
	textCause
	parts []string
}

// outage is what a client of the runtime says of one that has gone.
var outage = textRule{textCause{layer: LayerRuntime}, []string{"error reading from server", "transport: error while dialing"}}

// textRules are the rules for errors of any step; the first that matches decides. Words of
// runtimes, of runc and crun, of CNI plugins and of the kubelet.
var textRules = []textRule{
	outage,
	{textCause{layer: LayerDisk}, []string{"no space left on device", "disk quota exceeded"}},
	{textCause{layer: LayerRuntime}, []string{"is reserved for", "failed to reserve sandbox name", "failed to reserve container name", "name is reserved", "reserving pod name", "reserving ctr name"}},
	{textCause{LayerKernel, StepStart}, []string{"oom-killed", "memory limit too low", "out of memory"}},
	{textCause{layer: LayerRuntime, step: StepSandbox}, []string{"no runtime for", "runtime handler", "runtimehandler", "runtimeclass"}},
	{textCause{LayerNetwork, StepNetwork}, []string{"network for sandbox", "to cni network", "network sandbox", "plugin type=", "cni plugin", "network plugin", "network is not ready", "networkunavailable", "no ip addresses available", "failed to allocate for range"}},
	{textCause{LayerApplication, StepStart}, []string{"exec format error", "executable file", `exec: "`, `exec: \"`}},
	{textCause{LayerDevice, StepDevice}, []string{"cdi device", "devices unavailable", "custom device", "gathering device information", "no such device"}},
	{textCause{LayerConfig, StepObject}, []string{"non-existent secret key", "non-existent config key", "couldn't find key", "secret \"", "configmap \"", "service account", "serviceaccount"}},
	{textCause{LayerVolume, StepVolume}, []string{"mountvolume.", "hostpath type check", "unmounted volumes", "attach or mount volumes", "mount volumes:"}},
	{textCause{layer: LayerVolume}, []string{"error mounting", "mount failed", "subpath", "failed to stat \"", "failed to mkdir"}},
	{textCause{layer: LayerCgroup}, []string{"cgroup"}},
	{textCause{layer: LayerConfig}, []string{"apparmor", "seccomp", "selinux", "runasnonroot", "non-root", "runasuser", "capabilit"}},
	{textCause{LayerHook, StepHook}, []string{"lifecycle hook", "poststarthook"}},
}

// pullTexts are the rules for errors of a pull: a registry that refuses or does not answer,
// before an image that is not there. Registries answer 401 for either.
var pullTexts = []textRule{
	outage,
	{textCause{layer: LayerDisk}, []string{"no space left on device", "disk quota exceeded"}},
	{textCause{LayerImage, StepPull}, []string{"pull policy of never", "errimageneverpull", "no match for platform", "no image found in", "extract layer", "invalid tar header", "invalid reference", "invalidimagename", "parse image", "default image tag", "repository name must", "signature"}},
	{textCause{LayerRegistry, StepPull}, []string{
		" 401", " 403", "unauthorized", "authorization", "authentication", "denied", "forbidden", " 429", "too many requests", "toomanyrequests", " 500", " 502", " 503", " 504", "registryunavailable",
		"connection refused", "connection reset", "no such host", "timeout", "deadline exceeded", "no route to host", "network is unreachable", "dial tcp", "tls:", "x509", "http response to https",
		"eof", "short read", "failed size validation", "digest", "pull progress", "no progress",
	}},
	{textCause{LayerImage, StepPull}, []string{"not found", "manifest unknown", "name unknown", "does not exist", " 404", "no such image"}},
}

// Meaning is what an error text implies.
type Meaning struct {
	Step       Step       // in which it failed, "" if the text does not show it
	Layer      Layer      // that it names
	Confidence Confidence // how sure that is
	Meaning    string     // what it means
	Hint       string     // the next command, "" if none is known
	Text       string     // the error
}

// Explain says what an error text of a runtime, kubelet, CNI plugin or kernel implies, of a pod in
// a step, "" if that is not known. It returns nothing for a text that says nothing.
func Explain(text string, at Step) []Meaning {
	rules := textRules
	if at == StepPull {
		rules = pullTexts
	}
	lower := strings.ToLower(text)
	for _, r := range rules {
		for _, part := range r.parts {
			if strings.Contains(lower, part) {
				return []Meaning{{Step: r.step, Layer: r.layer, Confidence: Observed, Text: text}}
			}
		}
	}
	return nil
}

// reserved is what containerd and CRI-O say of a name that another sandbox or container has. In
// a kubelet's log it is quoted again.
var reserved = regexp.MustCompile(`name [\\"]*([^\\"\s]+)[\\"]* is reserved for [\\"]*([0-9a-f]{8,64})`)

// ReservedFor returns the id that has the name, and the name; "" if the text is not about one.
func ReservedFor(text string) (id, name string) {
	m := reserved.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	return m[2], m[1]
}
