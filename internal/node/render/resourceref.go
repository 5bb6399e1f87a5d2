package render

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// resourceField returns a request or limit of a container in units of the divisor,
// rounded up. A limit that is not set is the pod's, else what the node
// has (pkg/kubelet/kubelet_resources.go, pkg/api/v1/resource/helpers.go). The
// container is the one that ref names, else c.
func resourceField(p *v1.Pod, c *v1.Container, ref *v1.ResourceFieldSelector, n *Node) (string, error) {
	defaults := true
	if ref.ContainerName != "" {
		var main bool
		if c, main = findContainer(p, ref.ContainerName); c == nil {
			return "", fmt.Errorf("resourceFieldRef names the unknown container %q", ref.ContainerName)
		}
		// The kubelet fills in the limits of main containers only.
		defaults = main
	}
	list, name, err := resourceOf(c, ref.Resource)
	if err != nil {
		return "", err
	}
	amount := list[name]
	if defaults && amount.IsZero() && strings.HasPrefix(ref.Resource, "limits.") && !isHugepages(name) {
		amount = defaultLimit(p, n, name)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == v1.ResourceCPU {
		return ratio(amount.MilliValue(), divisor.MilliValue()), nil
	}
	return ratio(amount.Value(), divisor.Value()), nil
}

func ratio(amount, divisor int64) string {
	return strconv.FormatInt(int64(math.Ceil(float64(amount)/float64(divisor))), 10)
}

// resourceOf takes "limits.cpu" apart.
func resourceOf(c *v1.Container, path string) (v1.ResourceList, v1.ResourceName, error) {
	kind, rest, _ := strings.Cut(path, ".")
	lists := map[string]v1.ResourceList{"limits": c.Resources.Limits, "requests": c.Resources.Requests}
	list, ok := lists[kind]
	name := v1.ResourceName(rest)
	switch {
	case !ok:
	case name == v1.ResourceCPU, name == v1.ResourceMemory, name == v1.ResourceEphemeralStorage, isHugepages(name):
		return list, name, nil
	}
	return nil, "", fmt.Errorf("resourceFieldRef has the unsupported resource %q", path)
}

// defaultLimit returns the pod's limit, where it sets one for a resource that it
// can, else the node's allocatable amount.
func defaultLimit(p *v1.Pod, n *Node, name v1.ResourceName) resource.Quantity {
	ofNode := n.Allocatable[name]
	if resourcehelper.IsPodLevelLimitsSet(p) && resourcehelper.IsSupportedPodLevelResource(name) {
		if limit := p.Spec.Resources.Limits[name]; !limit.IsZero() && !ofNode.IsZero() {
			return limit
		}
	}
	return ofNode
}

// findContainer looks for a container by name; main reports that it is not an
// init container.
func findContainer(p *v1.Pod, name string) (c *v1.Container, main bool) {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == name {
			return &p.Spec.Containers[i], true
		}
	}
	for i := range p.Spec.InitContainers {
		if p.Spec.InitContainers[i].Name == name {
			return &p.Spec.InitContainers[i], false
		}
	}
	return nil, false
}

func isHugepages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}
