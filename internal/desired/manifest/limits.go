package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// maxLimitRanges bounds the LimitRanges of a namespace: each is applied to each of its pods.
const maxLimitRanges = 100

// limitRangerAnnotation lists the defaults that the plugin set.
const limitRangerAnnotation = "kubernetes.io/limit-ranger"

// applyLimitRanges gives the containers the defaults of the LimitRanges of the pod's namespace,
// and denies what their limits forbid (plugin/pkg/admission/limitranger/admission.go).
func (a *admission) applyLimitRanges() {
	ranges := a.objects.LimitRangesOf(a.pod.Namespace)
	if len(ranges) > maxLimitRanges {
		a.report(Deny, "metadata.namespace", fmt.Sprintf("the namespace has more than %d LimitRanges", maxLimitRanges), "")
		return
	}
	for _, l := range ranges {
		a.mutableSpec()
		a.applyLimitDefaults(l)
	}
	for _, l := range ranges {
		for _, item := range l.Spec.Limits {
			a.checkLimits(l.Name, item)
		}
	}
}

// applyLimitDefaults adds the requests and limits that a LimitRange has for containers without.
func (a *admission) applyLimitDefaults(l *v1.LimitRange) {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	for _, item := range l.Spec.Limits {
		if item.Type == v1.LimitTypeContainer {
			maps.Copy(requests, item.DefaultRequest)
			maps.Copy(limits, item.Default)
		}
	}
	var notes []string
	for _, list := range []struct {
		of   string
		each []v1.Container
	}{{"container", a.pod.Spec.Containers}, {"init container", a.pod.Spec.InitContainers}} {
		for i := range list.each {
			c := &list.each[i]
			for _, add := range []struct {
				what     string
				to       *v1.ResourceList
				defaults v1.ResourceList
			}{{"request", &c.Resources.Requests, requests}, {"limit", &c.Resources.Limits, limits}} {
				if added := addMissing(add.to, add.defaults); len(added) > 0 {
					notes = append(notes, fmt.Sprintf("%s %s for %s %s", strings.Join(added, ", "), add.what, list.of, c.Name))
				}
			}
		}
	}
	if len(notes) > 0 {
		a.pod.Annotations = mergedStrings(a.pod.Annotations, map[string]string{limitRangerAnnotation: "LimitRanger plugin set: " + strings.Join(notes, "; ")})
	}
}

// addMissing adds the resources that a list lacks, and returns their names.
func addMissing(to *v1.ResourceList, defaults v1.ResourceList) []string {
	var added []string
	for name, quantity := range defaults {
		if _, ok := (*to)[name]; ok {
			continue
		}
		if *to == nil {
			*to = v1.ResourceList{}
		}
		(*to)[name] = quantity
		added = append(added, string(name))
	}
	slices.Sort(added)
	return added
}

// checkLimits denies what an item of a LimitRange forbids.
func (a *admission) checkLimits(name string, item v1.LimitRangeItem) {
	switch item.Type {
	case v1.LimitTypeContainer:
		for list, containers := range map[string][]v1.Container{"containers": a.pod.Spec.Containers, "initContainers": a.pod.Spec.InitContainers} {
			for i, c := range containers {
				at := fmt.Sprintf("spec.%s[%d].resources", list, i)
				a.denyAll(at, name, item.Type, limitViolations(item, c.Resources.Requests, c.Resources.Limits))
			}
		}
	case v1.LimitTypePod:
		// Neither overhead nor a status counts.
		opts := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
		a.denyAll("spec", name, item.Type, limitViolations(item, resourcehelper.PodRequests(a.pod, opts), resourcehelper.PodLimits(a.pod, opts)))
	case v1.LimitTypePersistentVolumeClaim: // in references, at the claims
	}
}

func (a *admission) denyAll(at, name string, of v1.LimitType, messages []string) {
	for _, m := range messages {
		a.report(Deny, at, fmt.Sprintf("LimitRange %q: %s", name, strings.ReplaceAll(m, "TYPE", string(of))), "")
	}
}

// claimLimitViolations is like limitViolations for a claim, which has only requests.
func claimLimitViolations(item v1.LimitRangeItem, c *v1.PersistentVolumeClaim) []string {
	asked := c.Spec.Resources.Requests
	messages := limitViolations(v1.LimitRangeItem{Min: item.Min}, asked, nil)
	for _, name := range sortedNames(item.Max) {
		most, request := item.Max[name], asked[name]
		switch {
		case !hasResource(asked, name):
			messages = append(messages, fmt.Sprintf("maximum %s usage per TYPE is %s.  No request is specified", name, most.String()))
		case request.Cmp(most) > 0:
			messages = append(messages, fmt.Sprintf("maximum %s usage per TYPE is %s, but request is %s", name, most.String(), request.String()))
		}
	}
	return messages
}

// limitViolations returns the messages of an item of a LimitRange that requests and limits violate;
// TYPE is a placeholder for its type.
func limitViolations(item v1.LimitRangeItem, requests, limits v1.ResourceList) (messages []string) {
	say := func(format string, args ...any) { messages = append(messages, fmt.Sprintf(format, args...)) }
	for _, name := range sortedNames(item.Min) {
		least, request, asks := item.Min[name], requests[name], hasResource(requests, name)
		limit := limits[name]
		switch {
		case !asks:
			say("minimum %s usage per TYPE is %s.  No request is specified", name, least.String())
		case request.Cmp(least) < 0:
			say("minimum %s usage per TYPE is %s, but request is %s", name, least.String(), request.String())
		case hasResource(limits, name) && limit.Cmp(least) < 0:
			say("minimum %s usage per TYPE is %s, but limit is %s", name, least.String(), limit.String())
		}
	}
	for _, name := range sortedNames(item.Max) {
		most, request, limit := item.Max[name], requests[name], limits[name]
		switch {
		case !hasResource(limits, name):
			say("maximum %s usage per TYPE is %s.  No limit is specified", name, most.String())
		case limit.Cmp(most) > 0:
			say("maximum %s usage per TYPE is %s, but limit is %s", name, most.String(), limit.String())
		case hasResource(requests, name) && request.Cmp(most) > 0:
			say("maximum %s usage per TYPE is %s, but request is %s", name, most.String(), request.String())
		}
	}
	for _, name := range sortedNames(item.MaxLimitRequestRatio) {
		most, request, limit := item.MaxLimitRequestRatio[name], requests[name], limits[name]
		switch {
		case request.IsZero():
			say("%s max limit to request ratio per TYPE is %s, but no request is specified or request is 0", name, most.String())
		case limit.IsZero():
			say("%s max limit to request ratio per TYPE is %s, but no limit is specified or limit is 0", name, most.String())
		default:
			if ratio := limit.AsApproximateFloat64() / request.AsApproximateFloat64(); ratio > most.AsApproximateFloat64() {
				say("%s max limit to request ratio per TYPE is %s, but provided ratio is %f", name, most.String(), ratio)
			}
		}
	}
	return messages
}

func hasResource(list v1.ResourceList, name v1.ResourceName) bool {
	_, ok := list[name]
	return ok
}

func sortedNames(list map[v1.ResourceName]resource.Quantity) []v1.ResourceName {
	return slices.Sorted(maps.Keys(list))
}
