package device

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/podctl/podctl/internal/pod"
)

// Request is how many devices of a kind a container is to have.
type Request struct {
	Container, Kind string
	Count           int
	// Passes: the container ends before the next one starts, which may have its
	// devices.
	Passes bool
}

// Requests returns the devices that the limits of a pod's containers request, in the
// order in which the containers start. The name of an extended resource is the CDI kind
// VENDOR/CLASS.
func Requests(p *v1.Pod) []Request {
	var all []Request
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		all = append(all, requests(c, !pod.IsSidecar(c))...)
	}
	for i := range p.Spec.Containers {
		all = append(all, requests(&p.Spec.Containers[i], false)...)
	}
	return all
}

func requests(c *v1.Container, passes bool) []Request {
	var all []Request
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		amount := c.Resources.Limits[name]
		if IsExtended(name) && amount.Value() > 0 {
			all = append(all, Request{Container: c.Name, Kind: string(name), Count: int(amount.Value()), Passes: passes})
		}
	}
	return all
}

// IsExtended reports whether a resource is not one of Kubernetes' own
// (IsExtendedResourceName in pkg/apis/core/v1/helper/helpers.go).
func IsExtended(name v1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return qualified && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

// Annotated returns the devices that annotations cdi.k8s.io/… give to every container
// of the pod, or an error if such an annotation is invalid.
func Annotated(p *v1.Pod) ([]string, error) {
	_, devices, err := cdi.ParseAnnotations(p.Annotations)
	if err != nil {
		return nil, fmt.Errorf("devices of annotations: %w", err)
	}
	slices.Sort(devices)
	return slices.Compact(devices), nil
}

// Of returns the devices of one container: its own, and those of the annotations, which
// ephemeral containers do not get.
func Of(p *v1.Pod, container string, a Assignment) ([]string, error) {
	devices := slices.Clone(a[container])
	for c := range pod.Containers(p) {
		if c.Name != container {
			continue
		}
		annotated, err := Annotated(p)
		if err != nil {
			return nil, err
		}
		for _, d := range annotated {
			if !slices.Contains(devices, d) {
				devices = append(devices, d)
			}
		}
	}
	return devices, nil
}
