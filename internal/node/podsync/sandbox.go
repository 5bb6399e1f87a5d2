package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// sandboxVerdict is whether the pod needs a new sandbox.
type sandboxVerdict struct {
	// newSandboxReason says why a new sandbox is needed, in the kubelet's words; "" if the
	// newest one is used.
	newSandboxReason string
	// attempt is that of the sandbox to use, or of the one to create.
	attempt uint32
	// id is the newest sandbox, "" if there is none (or if it is on the wrong
	// network, when the kubelet passes over it).
	id string
}

// judgeSandbox compares the pod's sandboxes with what the pod needs: exactly
// one ready sandbox, the newest, on the network the pod asks for, with an
// address unless it is the host's or the runtime does not report addresses
// (PodSandboxChanged in pkg/kubelet/kuberuntime/util/util.go).
func judgeSandbox(p *v1.Pod, st *pod.Status) sandboxVerdict {
	if len(st.Sandboxes) == 0 {
		return sandboxVerdict{newSandboxReason: "no pod sandbox exists"}
	}
	ready := 0
	for _, s := range st.Sandboxes {
		if s.State == pod.Running {
			ready++
		}
	}
	newest := st.Sandboxes[0]
	next := sandboxVerdict{attempt: newest.Attempt + 1, id: newest.ID}
	switch {
	case ready > 1:
		next.newSandboxReason = "multiple pod sandboxes are ready and need to be reconciled"
	case newest.State != pod.Running:
		next.newSandboxReason = "pod sandbox is not ready"
	case newest.HostNetwork != pod.IsHostNetwork(p):
		next.newSandboxReason, next.id = "network namespace mode changed and sandbox needs to be recreated", ""
	case !newest.HostNetwork && len(newest.IPs) == 0 && !newest.NetworkUnknown:
		next.newSandboxReason = "pod sandbox has no IP address"
	default:
		next.attempt = newest.Attempt
	}
	return next
}
