package render

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// namespaceOptions says which namespaces are the node's, the pod's, or each
// container's own. Only processes may be per container: they are, unless the
// pod shares them (pkg/kubelet/kuberuntime/util/util.go).
func namespaceOptions(p *v1.Pod, users *runtimeapi.UserNamespace) (*runtimeapi.NamespaceOption, error) {
	options := &runtimeapi.NamespaceOption{
		Network: nodeOrPod(p.Spec.HostNetwork),
		Ipc:     nodeOrPod(p.Spec.HostIPC),
		Pid:     runtimeapi.NamespaceMode_CONTAINER,
	}
	switch {
	case p.Spec.HostPID:
		options.Pid = runtimeapi.NamespaceMode_NODE
	case ptr.Deref(p.Spec.ShareProcessNamespace, false):
		options.Pid = runtimeapi.NamespaceMode_POD
	}
	if !pod.HasUserNamespace(p) {
		options.UsernsOptions = &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_NODE}
		return options, nil
	}
	if users == nil {
		return nil, errors.New("hostUsers is false and the pod has no user namespace")
	}
	options.UsernsOptions = users
	return options, nil
}

func nodeOrPod(node bool) runtimeapi.NamespaceMode {
	if node {
		return runtimeapi.NamespaceMode_NODE
	}
	return runtimeapi.NamespaceMode_POD
}
