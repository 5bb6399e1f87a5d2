package event

import (
	"fmt"
	"net"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// HostPort is a port of the host that a pod asks for, and the pod that has it.
type HostPort struct {
	// Address is that of the pod that has the port, "" for all addresses.
	Address string `json:"address,omitempty"`
	// Port is the number.
	Port int32 `json:"port"`
	// Protocol is TCP, UDP or SCTP.
	Protocol v1.Protocol `json:"protocol"`
	// Namespace is that of the pod that has the port.
	Namespace string `json:"namespace"`
	// Name is that of the pod that has the port.
	Name string `json:"name"`
	// UID is that of the pod that has the port.
	UID types.UID `json:"uid,omitempty"`
	// Kind is the kind of that pod's owner: podctl, kubelet or other; "" if it is not known.
	Kind string `json:"kind,omitempty"`
	// Instance is the podctl process that manages that pod.
	Instance string `json:"instance,omitempty"`
	// Creator is the podctl instance that created it, where none is known to manage it.
	Creator string `json:"creator,omitempty"`
}

// The kinds of owners, as `podctl pods` names them.
const (
	byPodctl  = "podctl"
	byKubelet = "kubelet"
	byOther   = "other"
)

// ManagedBy sets the owner: a live podctl process.
func (h *HostPort) ManagedBy(instance string) { h.Kind, h.Instance = byPodctl, instance }

// CreatedAs sets the owner by what the runtime shows of the sandbox: who created it, which
// does not say who manages it now.
func (h *HostPort) CreatedAs(creator string, kubelet bool) {
	switch h.Kind = byOther; {
	case creator != "":
		h.Kind, h.Creator = byPodctl, creator
	case kubelet:
		h.Kind = byKubelet
	}
}

// Text returns "default/web (of podctl agent) has port 8080/TCP".
func (h *HostPort) Text() string {
	port := strconv.Itoa(int(h.Port))
	if h.Address != "" {
		port = net.JoinHostPort(h.Address, port)
	}
	return fmt.Sprintf("%s%s has port %s/%s", pod.DisplayName(h.Namespace, h.Name), h.ownerText(), port, h.Protocol)
}

func (h *HostPort) ownerText() string {
	switch {
	case h.Instance != "":
		return " (of podctl " + h.Instance + ")"
	case h.Creator != "":
		return " (created by podctl " + h.Creator + ")"
	case h.Kind == byKubelet:
		return " (created by a kubelet)"
	case h.Kind == byOther:
		return " (created by neither podctl nor a kubelet)"
	}
	return ""
}
