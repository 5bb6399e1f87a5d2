package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// sandboxVerdict is whether the pod needs a new sandbox.
type sandboxVerdict struct {
	// changed: a new sandbox is needed.
	changed bool
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
		return sandboxVerdict{changed: true}
	}
	ready := 0
	for _, s := range st.Sandboxes {
		if s.State == pod.Running {
			ready++
		}
	}
	newest := st.Sandboxes[0]
	next := sandboxVerdict{changed: true, attempt: newest.Attempt + 1, id: newest.ID}
	switch {
	case ready > 1, newest.State != pod.Running:
		return next
	case newest.HostNetwork != pod.IsHostNetwork(p):
		next.id = ""
		return next
	case !newest.HostNetwork && len(newest.IPs) == 0 && !newest.NetworkUnknown:
		return next
	}
	return sandboxVerdict{attempt: newest.Attempt, id: newest.ID}
}
