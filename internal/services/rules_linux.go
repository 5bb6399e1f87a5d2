package services

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/knftables"
)

const tableComment = "Services of podctl; podctl orphans --kill removes them if no podctl serves"

// Rules writes Services into the table. The zero value with Range has written nothing, and begins
// with a new table in place of one that a killed podctl left.
type Rules struct {
	Range netip.Prefix
	// BridgeFiltered: what pods of one bridge send each other passes netfilter, so that an answer
	// finds its way back through the address that was asked.
	BridgeFiltered bool

	// chains and sets are those that the table has beside the base chains.
	chains, sets map[string]bool
}

// The base chains, maps and sets of the table.
const (
	chainServices    = "services"
	chainPostrouting = "nat-postrouting"
	mapAddresses     = "service-ips"
	mapNodePorts     = "service-nodeports"
	setHairpin       = "hairpin"
)

// Transaction returns what makes the table serve the Services, in one change. Clients keep their endpoint
// (session affinity) where both stay.
func (r *Rules) Transaction(nft knftables.Interface, all []Service) *knftables.Transaction {
	tx := nft.NewTransaction()
	comment := tableComment
	table := &knftables.Table{Comment: &comment}
	tx.Add(table)
	if r.chains == nil {
		tx.Delete(table)
		tx.Add(table)
		r.addBase(tx)
	}
	w := &ruleWriter{Transaction: tx, chains: map[string]bool{}, sets: map[string]bool{}, addresses: map[string]bool{}}
	for _, name := range []string{mapAddresses, mapNodePorts} {
		tx.Flush(&knftables.Map{Name: name})
	}
	for _, name := range []string{setHairpin, "nodeports-tcp", "nodeports-udp"} {
		tx.Flush(&knftables.Set{Name: name})
	}
	for i := range all {
		if s := &all[i]; s.Problem == "" && s.Type != v1.ServiceTypeExternalName && !s.Headless() {
			w.service(s)
		}
	}
	for _, address := range slices.Sorted(maps.Keys(w.addresses)) {
		tx.Add(&knftables.Element{Set: setHairpin, Key: []string{address, address}})
	}
	for _, name := range slices.Sorted(maps.Keys(r.chains)) {
		if !w.chains[name] {
			tx.Flush(&knftables.Chain{Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.chains)) {
		if !w.chains[name] {
			tx.Delete(&knftables.Chain{Name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.sets)) {
		if !w.sets[name] {
			tx.Delete(&knftables.Set{Name: name})
		}
	}
	r.chains, r.sets = w.chains, w.sets
	return tx
}

// addBase adds what a table has for any Services. Connections are translated before routing; to what
// of the range is no port of a Service, or has no endpoint, they are rejected.
func (r *Rules) addBase(tx *knftables.Transaction) {
	base := func(name string, kind knftables.BaseChainType, hook knftables.BaseChainHook, priority knftables.BaseChainPriority, rules ...string) {
		tx.Add(&knftables.Chain{Name: name, Type: &kind, Hook: &hook, Priority: &priority})
		for _, rule := range rules {
			tx.Add(&knftables.Rule{Chain: name, Rule: rule})
		}
	}
	tx.Add(&knftables.Map{Name: mapAddresses, Type: "ipv4_addr . inet_proto . inet_service : verdict"})
	tx.Add(&knftables.Map{Name: mapNodePorts, Type: "inet_proto . inet_service : verdict"})
	tx.Add(&knftables.Set{Name: setHairpin, Type: "ipv4_addr . ipv4_addr"})
	tx.Add(&knftables.Set{Name: "nodeports-tcp", Type: "inet_service"})
	tx.Add(&knftables.Set{Name: "nodeports-udp", Type: "inet_service"})
	tx.Add(&knftables.Chain{Name: chainServices})
	tx.Add(&knftables.Rule{Chain: chainServices, Rule: "ip daddr . meta l4proto . th dport vmap @" + mapAddresses})
	tx.Add(&knftables.Rule{Chain: chainServices, Rule: "fib daddr type local ip daddr != 127.0.0.0/8 ip daddr != " + DNSAddress + " meta l4proto . th dport vmap @" + mapNodePorts})
	// No other rule of this machine, such as that of a pod's host port 53, translates what is sent to the DNS server.
	to, from := "ip daddr "+DNSAddress+" meta l4proto { tcp, udp } th dport 53 notrack", "ip saddr "+DNSAddress+" meta l4proto { tcp, udp } th sport 53 notrack"
	base("raw-prerouting", knftables.FilterType, knftables.PreroutingHook, knftables.RawPriority, to)
	base("raw-output", knftables.FilterType, knftables.OutputHook, knftables.RawPriority, to, from)
	base("nat-prerouting", knftables.NATType, knftables.PreroutingHook, knftables.DNATPriority, "jump "+chainServices)
	base("nat-output", knftables.NATType, knftables.OutputHook, knftables.DNATPriority, "jump "+chainServices)
	back := "ip saddr . ip daddr @" + setHairpin
	if !r.BridgeFiltered {
		back = "fib saddr type != local" // also of pods that are behind no Service
	}
	base(chainPostrouting, knftables.NATType, knftables.PostroutingHook, knftables.SNATPriority,
		fmt.Sprintf("ct status dnat ct original ip daddr %s %s masquerade", r.Range, back),
		"ct status dnat meta l4proto tcp ct original proto-dst @nodeports-tcp masquerade",
		"ct status dnat meta l4proto udp ct original proto-dst @nodeports-udp masquerade")
	base("filter-forward", knftables.FilterType, knftables.ForwardHook, knftables.FilterPriority, fmt.Sprintf("ip daddr %s reject", r.Range))
	base("filter-output", knftables.FilterType, knftables.OutputHook, knftables.FilterPriority, fmt.Sprintf("ip daddr %s reject", r.Range))
}

// ruleWriter writes the rules of Services into a transaction.
type ruleWriter struct {
	*knftables.Transaction
	chains, sets map[string]bool
	// addresses are those of the endpoints.
	addresses map[string]bool
}

// chain writes a chain with these rules only.
func (w *ruleWriter) chain(name string, rules ...string) {
	w.chains[name] = true
	w.Add(&knftables.Chain{Name: name})
	w.Flush(&knftables.Chain{Name: name})
	for _, rule := range rules {
		w.Add(&knftables.Rule{Chain: name, Rule: rule})
	}
}

func (w *ruleWriter) service(s *Service) {
	for i, p := range s.Ports {
		backends := s.Backends(i)
		if len(backends) == 0 {
			continue
		}
		protocol := strings.ToLower(string(p.Protocol))
		of := fmt.Sprintf("%s/%s/%s/%d", s.Namespace, s.Name, protocol, p.Port)
		var rules, chosen []string
		for n, b := range backends {
			w.addresses[b.Address] = true
			choice := fmt.Sprintf("%d : %s . %d", n, b.Address, b.Ports[i])
			if s.Affinity > 0 {
				endpoint := fmt.Sprintf("%s/%s/%d", of, b.Address, b.Ports[i])
				w.stickyEndpoint(endpoint, fmt.Sprintf("meta l4proto %s dnat to %s:%d", protocol, b.Address, b.Ports[i]), s.Affinity)
				rules = append(rules, fmt.Sprintf("ip saddr @clients/%s goto ep/%s", endpoint, endpoint))
				choice = fmt.Sprintf("%d : goto ep/%s", n, endpoint)
			}
			chosen = append(chosen, choice)
		}
		choose := fmt.Sprintf("meta l4proto %s dnat ip to numgen random mod %d map { %s }", protocol, len(backends), strings.Join(chosen, ", "))
		if s.Affinity > 0 {
			choose = fmt.Sprintf("numgen random mod %d vmap { %s }", len(backends), strings.Join(chosen, " , "))
		}
		w.chain("svc/"+of, append(rules, choose)...)
		verdict := []string{"goto svc/" + of}
		w.Add(&knftables.Element{Map: mapAddresses, Key: []string{s.Address, protocol, fmt.Sprint(p.Port)}, Value: verdict})
		if p.NodePort != 0 {
			w.Add(&knftables.Element{Map: mapNodePorts, Key: []string{protocol, fmt.Sprint(p.NodePort)}, Value: verdict})
			w.Add(&knftables.Element{Set: "nodeports-" + protocol, Key: []string{fmt.Sprint(p.NodePort)}})
		}
	}
}

// stickyEndpoint writes the chain of an endpoint that remembers its clients.
func (w *ruleWriter) stickyEndpoint(endpoint, rule string, seconds int32) {
	timeout := time.Duration(seconds) * time.Second
	w.sets["clients/"+endpoint] = true
	w.Add(&knftables.Set{Name: "clients/" + endpoint, Type: "ipv4_addr", Flags: []knftables.SetFlag{knftables.DynamicFlag, knftables.TimeoutFlag}, Timeout: &timeout})
	w.chain("ep/"+endpoint, fmt.Sprintf("update @clients/%s { ip saddr }", endpoint), rule)
}
