package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
)

// changed reports whether a running container was made from another definition:
// another image. A container without a hash counts as unchanged (containerChanged in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func changed(c *v1.Container, last *pod.ContainerStatus) bool {
	return last.Hash != "" && last.Hash != render.Hash(c)
}
