package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// deviceAnnotations begin the annotations that give a pod devices of CDI
// specifications, which are separated by commas.
const deviceAnnotations = "cdi.k8s.io/"

// checkDevices reports annotations for devices that name none: the runtime would
// refuse each of the pod's containers. Whether a device exists is known when the pod
// starts.
func checkDevices(p *v1.Pod, report func(field, message, hint string)) {
	for _, key := range slices.Sorted(maps.Keys(p.Annotations)) {
		if !strings.HasPrefix(key, deviceAnnotations) {
			continue
		}
		for device := range strings.SplitSeq(p.Annotations[key], ",") {
			kind, name, named := strings.Cut(device, "=")
			vendor, class, ok := strings.Cut(kind, "/")
			if !named || !ok || vendor == "" || class == "" || name == "" {
				report("metadata.annotations["+key+"]", fmt.Sprintf("Invalid value: %q: a device is VENDOR/CLASS=NAME", device), "write vendor.com/class=name, or several with commas between them")
			}
		}
	}
}
