package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// systemPriorities are the classes that every cluster has
// (pkg/apis/scheduling/v1/helpers.go).
var systemPriorities = map[string]int32{
	"system-cluster-critical": 2_000_000_000,
	"system-node-critical":    2_000_001_000,
}

// setPriority gives a pod of a system class its number, as the priority
// admission plugin of the API server does. A static pod has not passed that: the
// kubelet judges it without a number.
func setPriority(p *v1.Pod) {
	if pod.IsStatic(p) {
		return
	}
	if number, ok := systemPriorities[p.Spec.PriorityClassName]; ok && p.Spec.Priority == nil {
		p.Spec.Priority = &number
	}
}

// warnRules reports what is valid and does not work without a control plane. gateHint says how
// the condition %s of a readiness gate is set.
func warnRules(p *v1.Pod, gateHint string, report func(field, message, hint string)) {
	for i, gate := range p.Spec.ReadinessGates {
		if slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == gate.ConditionType }) {
			continue
		}
		report(fmt.Sprintf("spec.readinessGates[%d]", i),
			fmt.Sprintf("nothing sets the condition %q without an API server: the pod is not ready before somebody does", gate.ConditionType), fmt.Sprintf(gateHint, gate.ConditionType))
	}
	eachContainer(p, func(at string, c *v1.Container) {
		for j, m := range c.VolumeMounts {
			if strings.Contains(m.MountPath, ":") {
				report(fmt.Sprintf("%s.volumeMounts[%d].mountPath", at, j),
					fmt.Sprintf("%q is one path: podman reads options behind the colon, Kubernetes does not", m.MountPath), "leave them out")
			}
		}
	})
}

// checkRules reports what neither the API server's validation nor the field
// table says: the rules that come of having no control plane.
func checkRules(p *v1.Pod, report func(field, message, hint string)) {
	if p.Name == "" && p.GenerateName != "" {
		report("metadata.generateName", "there is no API server to make names", "set metadata.name")
	}
	if p.UID != "" && !safeUID().MatchString(string(p.UID)) {
		report("metadata.uid", fmt.Sprintf("Invalid value: %q: it becomes part of paths and cgroup names: up to 63 letters, digits and dashes, no dash at either end", p.UID),
			"leave it out, and podctl makes one from the manifest")
	}
	checkDevices(p, report)
	class := p.Spec.PriorityClassName
	if number, system := systemPriorities[class]; system && p.Spec.Priority != nil && *p.Spec.Priority != number {
		report("spec.priority", fmt.Sprintf("Invalid value: %d: %s has the priority %d", *p.Spec.Priority, class, number), "leave it out")
	}
}

// checkConditions reports the conditions of the written status that podctl ignores or refuses.
func (b *builder) checkConditions(doc map[string]any) {
	var written v1.Pod
	if err := json.Unmarshal(marshal(map[string]any{"status": doc["status"]}), &written); err != nil {
		return // a problem already
	}
	seen := map[v1.PodConditionType]bool{}
	for i, c := range written.Status.Conditions {
		at := fmt.Sprintf("status.conditions[%d]", i)
		err := pod.CheckCondition(c)
		switch {
		case pod.OwnsCondition(c.Type):
			b.warning(at, fmt.Sprintf("ignored: podctl sets the condition %s itself", c.Type), "")
		case err != nil:
			b.problem(at, err.Error(), "")
		case seen[c.Type]:
			b.problem(at, fmt.Sprintf("Duplicate value: the condition %s", c.Type), "")
		}
		seen[c.Type] = true
	}
}
