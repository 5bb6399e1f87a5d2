package services

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Bounds of what is served. nft has to check all rules within nftTimeout, and the table is built each period.
const (
	maxServices = 5000
	// maxPorts, maxLabels of the selector and maxEndpoints are those of one Service.
	maxPorts, maxLabels, maxEndpoints = 100, maxPorts, 5000
	// maxBackends bounds the endpoints of all ports of all Services. nft takes seconds for thousands of chains, so a port
	// counts as chainWeight more, and with session affinity each of its endpoints does.
	maxBackends, chainWeight = 10000, 4
)

// findTooLarge returns for each Service why it is too large to be served, "" if it is not. Of all Services those are
// served first that were before, then the small ones.
func findTooLarge(all []*v1.Service, of func(*v1.Service) Input, before []Service) []string {
	was := map[string]int{}
	for _, s := range before {
		if s.Problem == "" {
			was[s.Namespace+"/"+s.Name] = -1
		}
	}
	problems, backends, order := make([]string, len(all)), make([]int, len(all)), make([]int, len(all))
	for n, s := range all {
		order[n] = n
		problems[n], backends[n] = measure(s, of(s))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := all[a], all[b]
		return cmp.Or(was[x.Namespace+"/"+x.Name]-was[y.Namespace+"/"+y.Name], backends[a]-backends[b])
	})
	total := 0
	for i, n := range order {
		if i >= maxServices {
			problems[n] = fmt.Sprintf("there are %d Services: up to %d are served", len(order), maxServices)
		} else if total+backends[n] > maxBackends {
			problems[n] = fmt.Sprintf("its backends count as %d, those of other Services as %d: up to %d are served", backends[n], total, maxBackends)
		} else {
			total += backends[n]
		}
	}
	return problems
}

// measure returns why a Service is too large whatever others there are, or what its backends count as.
func measure(s *v1.Service, in Input) (problem string, backends int) {
	if len(s.Spec.Ports) > maxPorts || len(s.Spec.Selector) > maxLabels {
		return fmt.Sprintf("it has more than %d ports, or labels in its selector", maxPorts), 0
	}
	endpoints := 0
	for _, p := range in.Pods {
		if isBehind(s, p) {
			endpoints++
		}
	}
	for _, slice := range in.Slices {
		if isOf(slice, s) {
			endpoints += len(slice.Endpoints)
		}
	}
	if endpoints > maxEndpoints {
		return fmt.Sprintf("it has %d endpoints: up to %d are served", endpoints, maxEndpoints), 0
	}
	weight := endpoints + chainWeight*min(endpoints, 1)
	if s.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
		weight += chainWeight * endpoints
	}
	return "", max(len(s.Spec.Ports), 1) * weight
}

// invalid returns which number or protocol of a Service nft would refuse, with all others in its transaction; "" if none.
// Manifests have none, but the part of another version may.
func (s *Service) invalid() string {
	isNoPort := func(n int32) bool { return n < 0 || n > 65535 }
	for _, p := range s.Ports {
		if isNoPort(p.Port) || !s.Headless() && p.Protocol != v1.ProtocolTCP && p.Protocol != v1.ProtocolUDP {
			return fmt.Sprintf("the port %d/%s cannot be served", p.Port, p.Protocol)
		}
		if p.NodePort != 0 && (p.NodePort < firstNodePort || p.NodePort >= firstNodePort+nodePorts) {
			return fmt.Sprintf("the node port %d/%s is not in %d-%d", p.NodePort, p.Protocol, firstNodePort, firstNodePort+nodePorts-1)
		}
	}
	for _, e := range s.Endpoints {
		if slices.ContainsFunc(e.Ports, isNoPort) {
			return fmt.Sprintf("the endpoint %s has the ports %v", e.Address, e.Ports)
		}
	}
	return ""
}
