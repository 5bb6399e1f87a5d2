package pod

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// HugepageSize returns the page size in bytes that a resource such as
// "hugepages-2Mi" is of; false for any other resource
// (pkg/apis/core/v1/helper/helpers.go).
func HugepageSize(name v1.ResourceName) (int64, bool) {
	size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
	if !ok {
		return 0, false
	}
	bytes, err := resource.ParseQuantity(size)
	return bytes.Value(), err == nil
}
