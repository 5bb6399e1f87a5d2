package services

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Bounds of what is served. nft has to check all rules within nftTimeout, and the table is built each period.
const (
	// maxPorts, maxLabels of the selector and maxEndpoints are those of one Service.
	maxPorts, maxLabels, maxEndpoints = 100, 100, 5000
	// maxBackends bounds the endpoints of all ports of all Services. nft takes seconds for thousands of chains, so a port
	// counts as chainWeight more, and with session affinity each of its endpoints does.
	maxBackends, chainWeight = 10000, 4
)

// findTooLarge returns for each Service why it is too large to be served, "" if it is not. Of all Services those are
// served first that were before, then the small ones.
func findTooLarge(in Input, before []Service) []string {
	problems, backends, order := make([]string, len(in.Services)), make([]int, len(in.Services)), make([]int, len(in.Services))
	isNew := map[string]int{}
	for _, s := range in.Services {
		isNew[s.Namespace+"/"+s.Name] = 1
	}
	for _, s := range before {
		if s.Problem == "" {
			delete(isNew, s.Namespace+"/"+s.Name)
		}
	}
	for n, s := range in.Services {
		order[n] = n
		problems[n], backends[n] = measure(s, in)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := in.Services[a], in.Services[b]
		return cmp.Or(isNew[x.Namespace+"/"+x.Name]-isNew[y.Namespace+"/"+y.Name], backends[a]-backends[b])
	})
	total := 0
	for _, n := range order {
		switch {
		case problems[n] != "":
		case total+backends[n] > maxBackends:
			problems[n] = fmt.Sprintf("its backends count as %d, those of other Services as %d: up to %d are served", backends[n], total, maxBackends)
		default:
			total += backends[n]
		}
	}
	return problems
}

// measure returns why a Service is too large whatever others there are, "" if it is not, and what its backends count as.
func measure(s *v1.Service, in Input) (problem string, backends int) {
	switch {
	case len(s.Spec.Ports) > maxPorts:
		return fmt.Sprintf("it has more than %d ports", maxPorts), 0
	case len(s.Spec.Selector) > maxLabels:
		return fmt.Sprintf("its selector has more than %d labels", maxLabels), 0
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
	if endpoints == 0 {
		return "", 0
	}
	weight := endpoints
	if s.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
		weight *= 1 + chainWeight
	}
	return "", max(len(s.Spec.Ports), 1) * (chainWeight + weight)
}

// invalid returns which number or protocol of a Service nft would refuse, with all others in its transaction; "" if none.
// Manifests have none, but the part of another version may.
func (s *Service) invalid() string {
	isPort := func(n int32) bool { return 0 <= n && n <= 65535 }
	for _, p := range s.Ports {
		switch {
		case !isPort(p.Port):
			return fmt.Sprintf("the port %d/%s is none", p.Port, p.Protocol)
		case p.NodePort != 0 && (p.NodePort < firstNodePort || p.NodePort >= firstNodePort+nodePorts):
			return fmt.Sprintf("the node port %d/%s is not in %d-%d", p.NodePort, p.Protocol, firstNodePort, firstNodePort+nodePorts-1)
		case !s.Headless() && p.Protocol != v1.ProtocolTCP && p.Protocol != v1.ProtocolUDP:
			return fmt.Sprintf("the protocol %s is not served", p.Protocol)
		}
	}
	for _, e := range s.Endpoints {
		for _, port := range e.Ports {
			if !isPort(port) {
				return fmt.Sprintf("the port %d of the endpoint %s is none", port, e.Address)
			}
		}
	}
	return ""
}
