package services

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/knftables"
)

func apply(t *testing.T, nft *knftables.Fake, r *Rules, all []Service) string {
	t.Helper()
	if err := nft.Run(context.Background(), r.Transaction(nft, all)); err != nil {
		t.Fatal(err)
	}
	return nft.Dump()
}

func TestRules(t *testing.T) {
	nft := knftables.NewFake(knftables.IPv4Family, TableName)
	r := &Rules{Range: DefaultRange, BridgeFiltered: true}
	nodePort := func(s *v1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = v1.ServiceTypeNodePort, 30080 }
	two := []*v1.Pod{readyPod("web-1", "web", "10.0.0.1"), readyPod("web-2", "web", "10.0.0.2")}
	dump := apply(t, nft, r, []Service{build(service("web", nodePort), two...)})
	for _, want := range []string{
		"meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.0.0.1 . 8080, 1 : 10.0.0.2 . 8080 }",
		"service-ips { 10.96.1.1 . tcp . 80 : goto svc/default/web/tcp/80 }",
		"service-nodeports { tcp . 30080 : goto svc/default/web/tcp/80 }",
		"ip daddr != 127.0.0.0/8 ip daddr != 169.254.20.10 meta l4proto . th dport vmap @service-nodeports",
		"hairpin { 10.0.0.1 . 10.0.0.1 }",
		"filter-forward ip daddr 10.96.0.0/16 reject",
		"raw-prerouting ip daddr 169.254.20.10 meta l4proto { tcp, udp } th dport 53 notrack",
		"raw-output ip saddr 169.254.20.10 meta l4proto { tcp, udp } th sport 53 notrack",
	} {
		if !strings.Contains(dump, want) {
			t.Errorf("no %q in\n%s", want, dump)
		}
	}
	sticky := func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }
	dump = apply(t, nft, r, []Service{build(service("web", sticky), two...)})
	if !strings.Contains(dump, "update @clients/default/web/tcp/80/10.0.0.1/8080 { ip saddr }") || !strings.Contains(dump, "timeout 10800s") {
		t.Errorf("no affinity in\n%s", dump)
	}
	if strings.Contains(dump, "30080") {
		t.Errorf("the node port is left in\n%s", dump)
	}
	dump = apply(t, nft, r, nil)
	for _, gone := range []string{"svc/", "ep/", "clients/", "10.0.0.1"} {
		if strings.Contains(dump, gone) {
			t.Errorf("%q is left in\n%s", gone, dump)
		}
	}
	if dump := apply(t, nft, &Rules{Range: DefaultRange}, []Service{build(service("web"), two...)}); !strings.Contains(dump, "ct original ip daddr 10.96.0.0/16 fib saddr type != local masquerade") {
		t.Errorf("without filtered bridges the answer to a pod that is behind no Service goes past the machine:\n%s", dump)
	}
}
