package preempt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Kinds of resource names (pkg/apis/core/v1/helper/helpers.go,
// pkg/scheduler/util/utils.go).

func hugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// ofKubernetes reports whether a name has kubernetes.io before the slash.
func ofKubernetes(name v1.ResourceName) bool {
	return strings.Contains(string(name), v1.ResourceDefaultNamespacePrefix)
}

// extended reports whether a name is that of an extended resource, such as
// vendor.example/thing.
func extended(name v1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !ofKubernetes(name) &&
		!strings.HasPrefix(string(name), v1.DefaultResourceRequestsPrefix) &&
		len(validation.IsQualifiedName(v1.DefaultResourceRequestsPrefix+string(name))) == 0
}

// scalar reports whether a resource is counted beside cpu, memory, ephemeral-storage
// and pods. Other names are not counted at all.
func scalar(name v1.ResourceName) bool {
	return extended(name) || hugePages(name) || ofKubernetes(name) ||
		strings.HasPrefix(string(name), v1.ResourceAttachableVolumesPrefix)
}

// withoutMissing is the pod without requests for extended resources of which
// the node knows nothing, and without those that a claim provides; and the
// names dropped for the first reason, sorted (removeMissingExtendedResources
// in pkg/kubelet/lifecycle/predicate.go). Only containers' requests are looked at.
func withoutMissing(p *v1.Pod, allocatable v1.ResourceList) (*v1.Pod, []v1.ResourceName) {
	var missing []v1.ResourceName
	drop := func(container string, name v1.ResourceName) bool {
		if claimed(p, container, name) {
			return true
		}
		if _, found := allocatable[name]; found || !extended(name) {
			return false
		}
		if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return true
	}
	trim := func(containers []v1.Container) []v1.Container {
		trimmed := slices.Clone(containers)
		for i := range trimmed {
			kept := v1.ResourceList{}
			for name, q := range trimmed[i].Resources.Requests {
				if !drop(trimmed[i].Name, name) {
					kept[name] = q
				}
			}
			trimmed[i].Resources.Requests = kept
		}
		return trimmed
	}
	checked := *p
	checked.Spec.Containers = trim(p.Spec.Containers)
	checked.Spec.InitContainers = trim(p.Spec.InitContainers)
	slices.Sort(missing)
	return &checked, missing
}

// deviceClassPrefix begins the names of resources that stand for device classes. The package that
// has it, k8s.io/api/resource/v1, would be a fiftieth of podctl.
const deviceClassPrefix = "deviceclass.resource.kubernetes.io/"

// claimed reports whether a device claim stands for the container's request.
func claimed(p *v1.Pod, container string, name v1.ResourceName) bool {
	status := p.Status.ExtendedResourceClaimStatus
	if status == nil || !extended(name) && !strings.HasPrefix(string(name), deviceClassPrefix) {
		return false
	}
	return slices.ContainsFunc(status.RequestMappings, func(m v1.ContainerExtendedResourceRequest) bool {
		return m.ContainerName == container && m.ResourceName == string(name)
	})
}

// Amount is so much of one resource, as pod.Count counts it: thousandths of
// cpu, bytes of memory and storage, pieces of everything else.
type Amount struct {
	Resource v1.ResourceName
	Count    int64
}

// Quantity is the amount in Kubernetes' notation: "400m", "1Gi".
func (a Amount) Quantity() *resource.Quantity {
	switch {
	case a.Resource == v1.ResourceCPU:
		return resource.NewMilliQuantity(a.Count, resource.DecimalSI)
	case a.Resource == v1.ResourceMemory, a.Resource == v1.ResourceEphemeralStorage, hugePages(a.Resource):
		return resource.NewQuantity(a.Count, resource.BinarySI)
	}
	return resource.NewQuantity(a.Count, resource.DecimalSI)
}

// String is the amount with its resource: "400m cpu".
func (a Amount) String() string { return fmt.Sprintf("%s %s", a.Quantity(), a.Resource) }

// MarshalJSON writes {"resource":"cpu","quantity":"400m"}.
func (a Amount) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Resource v1.ResourceName    `json:"resource"`
		Quantity *resource.Quantity `json:"quantity"`
	}{a.Resource, a.Quantity()})
}

// list formats amounts for output: "400m cpu, 1Gi memory".
func list(amounts []Amount) string {
	words := make([]string, len(amounts))
	for i, a := range amounts {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}

// kubeletList writes amounts as the kubelet's errors do.
func kubeletList(amounts []Amount) string {
	var b strings.Builder
	b.WriteByte('[')
	for _, a := range amounts {
		fmt.Fprintf(&b, "(res: %s, q: %d), ", a.Resource, a.Count)
	}
	b.WriteByte(']')
	return b.String()
}

// positive drops the amounts of which nothing is needed.
func positive(amounts []Amount) []Amount {
	var kept []Amount
	for _, a := range amounts {
		if a.Count > 0 {
			kept = append(kept, a)
		}
	}
	return kept
}
