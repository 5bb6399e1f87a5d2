package services

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// whyNoEndpoints says why no endpoint of a Service is ready.
func whyNoEndpoints(s *v1.Service, endpoints []Endpoint, pods []*v1.Pod) string {
	if len(endpoints) > 0 {
		var names []string
		for _, e := range endpoints {
			names = append(names, cmp.Or(e.Pod, e.Address))
		}
		return "not ready: " + firstNames(names)
	}
	if len(s.Spec.Selector) == 0 {
		return "no selector, and no EndpointSlice with the label " + discoveryv1.LabelServiceName + "=" + s.Name
	}
	var selected, elsewhere []string
	near, most, keys := "", 0, slices.Sorted(maps.Keys(s.Spec.Selector))
	for _, p := range pods {
		matched, differs := 0, ""
		for _, key := range keys {
			switch value, has := p.Labels[key]; {
			case has && value == s.Spec.Selector[key]:
				matched++
			case has:
				differs = key + "=" + value
			default:
				differs = "no label " + key
			}
		}
		switch {
		case p.Namespace != s.Namespace && differs == "":
			elsewhere = append(elsewhere, p.Namespace+"/"+p.Name)
		case p.Namespace != s.Namespace:
		case differs == "":
			selected = append(selected, p.Name)
		case matched > most:
			near, most = fmt.Sprintf("pod %s has %s", p.Name, differs), matched
		}
	}
	selector := labels.SelectorFromSet(s.Spec.Selector).String()
	switch {
	case len(selected) > 0:
		return "without an address: " + firstNames(selected)
	case len(elsewhere) > 0:
		return fmt.Sprintf("no pod of the namespace has %s, but %s", selector, firstNames(elsewhere))
	case near != "":
		return fmt.Sprintf("no pod has %s: %s", selector, near)
	}
	return "no pod has " + selector
}

// firstNames lists at most three.
func firstNames(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}
