package pod

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// OwnsCondition reports whether nobody else sets conditions of that type: those of the node
// (pkg/kubelet/types/pod_status.go), and that of a disruption.
func OwnsCondition(t v1.PodConditionType) bool {
	switch t {
	case v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled,
		v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting, v1.DisruptionTarget:
		return true
	}
	return false
}

// CheckCondition returns what is wrong with a condition that others set, nil if nothing is.
func CheckCondition(c v1.PodCondition) error {
	if errs := validation.IsQualifiedName(string(c.Type)); len(errs) > 0 {
		return fmt.Errorf("condition %q: %s", c.Type, strings.Join(errs, "; "))
	}
	if OwnsCondition(c.Type) {
		return fmt.Errorf("condition %s: podctl sets it itself", c.Type)
	}
	switch c.Status {
	case v1.ConditionTrue, v1.ConditionFalse, v1.ConditionUnknown:
		return nil
	}
	return fmt.Errorf("condition %s: status %q is not True, False or Unknown", c.Type, c.Status)
}
