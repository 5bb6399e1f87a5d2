package render

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/dump"

	"github.com/podctl/podctl/internal/pod"
)

// containerLabels say whose the container is.
func containerLabels(p *v1.Pod, c *v1.Container) map[string]string {
	return mergeMaps(identity(p), map[string]string{pod.ContainerNameLabel: c.Name})
}

// sandboxAnnotations returns the pod's and podctl's own. A manifest does not choose the
// latter, and the source that it may name is not given: by that a sandbox is known
// as a kubelet's (package cri).
func sandboxAnnotations(p *v1.Pod, own map[string]string) map[string]string {
	a := mergeMaps(p.Annotations)
	for _, name := range []string{
		pod.ConfigSourceAnnotation,
		pod.OwnerAnnotation, pod.InstanceAnnotation, pod.WorkloadAnnotation, pod.DevicesAnnotation, pod.ManifestAnnotation,
	} {
		delete(a, name)
	}
	return mergeMaps(a, own)
}

// containerAnnotations carry what is needed to end the container and to read
// its termination message, should the manifest be gone by then
// (pkg/kubelet/kuberuntime/labels.go).
func containerAnnotations(p *v1.Pod, c *v1.Container, attempt uint32) map[string]string {
	a := map[string]string{
		pod.HashAnnotation:                     Hash(c),
		pod.RestartCountAnnotation:             strconv.FormatUint(uint64(attempt), 10),
		pod.TerminationMessagePathAnnotation:   c.TerminationMessagePath,
		pod.TerminationMessagePolicyAnnotation: string(c.TerminationMessagePolicy),
	}
	if grace := p.DeletionGracePeriodSeconds; grace != nil {
		a[pod.DeletionGraceAnnotation] = strconv.FormatInt(*grace, 10)
	}
	if grace := p.Spec.TerminationGracePeriodSeconds; grace != nil {
		a[pod.TerminationGraceAnnotation] = strconv.FormatInt(*grace, 10)
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		a[pod.PreStopAnnotation] = toJSON(c.Lifecycle.PreStop)
	}
	if len(c.Ports) > 0 {
		a[pod.PortsAnnotation] = toJSON(c.Ports)
	}
	return a
}

// Hash returns a hash of the container's name and image. A container whose hash changes
// must be restarted (HashContainer in pkg/kubelet/container/helpers.go).
func Hash(c *v1.Container) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%v", dump.ForHash([]byte(toJSON(map[string]string{"name": c.Name, "image": c.Image}))))
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

// toJSON encodes what came from JSON, which cannot fail.
func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
