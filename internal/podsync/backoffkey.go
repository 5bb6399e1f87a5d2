package podsync

import (
	"hash/fnv"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// BackoffKey returns the key of a container of a pod in the crash back-off. What
// could make it stop crashing is part of it: another image or other resources
// reset the back-off
// (GetBackoffKey in pkg/kubelet/kuberuntime/helpers.go).
func BackoffKey(p *v1.Pod, c *v1.Container) string {
	h := fnv.New64a()
	h.Write([]byte(strings.Join([]string{
		p.Name, p.Namespace, string(p.UID), c.Name, c.Image, c.Resources.String(),
	}, "/")))
	return strconv.FormatUint(h.Sum64(), 16)
}
