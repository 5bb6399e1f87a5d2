package render

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// hugepageLimits limits every page size of the node: to what the container
// asks for, else the pod, else 0 (GetHugepageLimitsFromResources in
// pkg/kubelet/kuberuntime/kuberuntime_container_linux.go). A size that the
// node lacks is left out.
func hugepageLimits(p *v1.Pod, c *v1.Container, n *Node) []*runtimeapi.HugepageLimit {
	wanted := map[string]uint64{}
	if resourcehelper.IsPodLevelResourcesSet(p) {
		addHugepages(wanted, p.Spec.Resources.Limits)
	}
	addHugepages(wanted, c.Resources.Limits)

	var limits []*runtimeapi.HugepageLimit
	for _, size := range n.HugePageSizes {
		limits = append(limits, &runtimeapi.HugepageLimit{PageSize: size, Limit: wanted[size]})
	}
	return limits
}

func addHugepages(wanted map[string]uint64, limits v1.ResourceList) {
	for name, amount := range limits {
		if size, ok := pod.HugepageSize(name); ok {
			wanted[pageSizeName(size)] = uint64(amount.Value())
		}
	}
}

// pageSizeName writes a page size as runc does: 2097152 is "2MB".
func pageSizeName(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	unit := 0
	for bytes > 0 && bytes%1024 == 0 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	return strconv.FormatInt(bytes, 10) + units[unit]
}
