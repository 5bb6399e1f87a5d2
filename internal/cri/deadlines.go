package cri

import (
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// DefaultTimeout bounds the calls that only read, where Endpoint.Timeout is
	// zero.
	DefaultTimeout = 30 * time.Second
	// ConnectTimeout bounds Connect as a whole, unless Endpoint.Timeout is less.
	ConnectTimeout = 10 * time.Second

	// changeTimeout is the kubelet's runtimeRequestTimeout: what a call that
	// changes something gets at least.
	changeTimeout = 2 * time.Minute
	// backstop ends what has no limit of its own, so that no call lasts for
	// ever. A pull without progress is ended by the runtime long before.
	backstop = 6 * time.Hour
)

// class says how long a call may take.
type class uint8

const (
	// change: Endpoint.Timeout, but at least changeTimeout. The zero value, so
	// that a method missing below errs on the patient side.
	change class = iota
	// read: Endpoint.Timeout.
	read
	// slowChange: twice change (the kubelet's rule for RunPodSandbox).
	slowChange
	// withOwn: change, on top of the time that the request itself gives the
	// runtime (grace period, timeout of an exec).
	withOwn
	// pull: backstop.
	pull
)

// call is what this package knows about one CRI method.
type call struct {
	verb  string // in errors, followed by the object
	class class
}

// calls has every CRI method that this package uses, and the methods of containerd that
// package pulls uses.
var calls = map[string]call{
	"Version":            {"ask version", read},
	"Status":             {"read runtime status", read},
	"RuntimeConfig":      {"read runtime config", read},
	"ListPodSandbox":     {"list sandboxes", read},
	"StreamPodSandboxes": {"list sandboxes", read},
	"PodSandboxStatus":   {"read status of sandbox", read},
	"ListContainers":     {"list containers", read},
	"StreamContainers":   {"list containers", read},
	"ContainerStatus":    {"read status of container", read},
	"ImageStatus":        {"read status of image", read},
	"ListImages":         {"list images", read},
	"StreamImages":       {"list images", read},
	"ImageFsInfo":        {"read image filesystem", read},

	"ListStatuses":  {"list content in transfer", read},
	"List":          {"list leases", read},
	"ListResources": {"list resources of lease", read},
	"Info":          {"read facts of content", read},
	"Read":          {"read content", read},
	"Stat":          {"read facts of snapshot", read},

	"ListContainerStats":    {"read statistics of containers", read},
	"StreamContainerStats":  {"read statistics of containers", read},
	"ListPodSandboxStats":   {"read statistics of sandboxes", read},
	"StreamPodSandboxStats": {"read statistics of sandboxes", read},

	"RunPodSandbox":    {"run sandbox", slowChange},
	"StopPodSandbox":   {"stop sandbox", change},
	"RemovePodSandbox": {"remove sandbox", change},
	"CreateContainer":  {"create container", change},
	"StartContainer":   {"start container", change},
	"StopContainer":    {"stop container", withOwn},
	"RemoveContainer":  {"remove container", change},
	"ExecSync":         {"exec in container", withOwn},
	"Exec":             {"exec in container", read},
	"Attach":           {"attach to container", read},
	"PortForward":      {"forward ports of sandbox", read},

	"UpdateContainerResources":  {"resize container", change},
	"UpdatePodSandboxResources": {"resize sandbox", change},

	"PullImage":   {"pull image", pull},
	"RemoveImage": {"remove image", change},

	"ReopenContainerLog": {"reopen log of container", change},

	// A stream has no deadline: it lasts until the caller's context ends.
	"GetContainerEvents": {"watch container events", read},
}

// deadline is how long a call of the method may take. timeout is
// Endpoint.Timeout, not zero.
func deadline(method string, req any, timeout time.Duration) time.Duration {
	patient := max(timeout, changeTimeout)
	switch calls[method].class {
	case read:
		return timeout
	case slowChange:
		return 2 * patient
	case pull:
		return backstop
	case change:
	case withOwn:
		switch r := req.(type) {
		case *runtimeapi.StopContainerRequest:
			return patient + time.Duration(r.Timeout)*time.Second
		case *runtimeapi.ExecSyncRequest:
			if r.Timeout == 0 {
				return backstop
			}
			return patient + time.Duration(r.Timeout)*time.Second
		}
	}
	return patient
}
