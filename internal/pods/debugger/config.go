package debugger

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

// Input is what Config needs.
type Input struct {
	Sandbox *runtimeapi.PodSandboxConfig
	// Container is the ephemeral container, Image what it runs.
	Container *v1.EphemeralContainer
	Image     pod.Image
	// Target is the id of the container whose processes it sees, "" for none.
	Target string
	// Hosts is the pod's own /etc/hosts, nil if it has none.
	Hosts *pod.Mount
}

// Config returns the config of a debug container. It shares the pod's names and namespaces,
// and none of its volumes. It is pure.
func Config(in Input) (*runtimeapi.ContainerConfig, error) {
	m, ns := in.Sandbox.GetMetadata(), in.Sandbox.GetLinux().GetSecurityContext().GetNamespaceOptions()
	p := &v1.Pod{}
	p.Namespace, p.Name, p.UID = m.GetNamespace(), m.GetName(), types.UID(m.GetUid())
	p.Spec.HostNetwork = ns.GetNetwork() == runtimeapi.NamespaceMode_NODE
	p.Spec.HostIPC = ns.GetIpc() == runtimeapi.NamespaceMode_NODE
	p.Spec.HostPID = ns.GetPid() == runtimeapi.NamespaceMode_NODE
	p.Spec.ShareProcessNamespace = new(ns.GetPid() == runtimeapi.NamespaceMode_POD)
	users := ns.GetUsernsOptions()
	if users.GetMode() == runtimeapi.NamespaceMode_POD && len(users.GetUids()) > 0 {
		p.Spec.HostUsers = new(false)
	}
	cfg, err := render.Container(p, pod.Ephemeral(in.Container), render.ContainerInput{
		Node: &render.Node{}, Image: in.Image, Target: in.Target, UserNamespace: users,
	})
	if err != nil {
		return nil, err
	}
	cfg.Labels[pod.DebugLabel] = "true"
	cfg.LogPath = logName(in.Container.Name)
	cfg.Linux.SecurityContext.NamespaceOptions.UsernsOptions = users // containerd compares them
	cfg.Mounts = nil
	if in.Hosts != nil {
		cfg.Mounts = []*runtimeapi.Mount{{ContainerPath: in.Hosts.ContainerPath, HostPath: in.Hosts.HostPath, Readonly: in.Hosts.ReadOnly}}
	}
	return cfg, nil
}

// logName returns the name of the container's log, in the log directory of the sandbox: not
// every runtime creates directories for logs.
func logName(container string) string { return container + ".log" }
