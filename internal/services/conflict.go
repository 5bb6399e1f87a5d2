package services

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

var (
	tableLine    = regexp.MustCompile(`^table (\S+ \S+) \{`)
	chainLine    = regexp.MustCompile(`^\s+chain (\S+) \{`)
	addressInSet = regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?\b`)
)

// findConflict returns an error if rules, as nft lists them, are of a kube-proxy, or name an address of
// the range. Rules for a network around it, such as 10.0.0.0/8, do not count.
func findConflict(ruleset string, in netip.Prefix) error {
	const kubeProxy = "the Services of a cluster's node are the cluster's; podctl runs pods beside them with --service-cidr none"
	table := ""
	for line := range strings.Lines(ruleset) {
		if m := tableLine.FindStringSubmatch(line); m != nil {
			table = m[1]
			if strings.HasSuffix(table, " kube-proxy") {
				return hint.Errorf(kubeProxy, "a kube-proxy serves Services on this host: nftables has its table %s", table)
			}
			continue
		}
		if table == "ip "+TableName {
			continue
		}
		if m := chainLine.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], "KUBE-SERVICES") {
			return hint.Errorf(kubeProxy, "a kube-proxy serves Services on this host: nftables has its chain %s in the table %s", m[1], table)
		}
		for _, text := range addressInSet.FindAllString(line, -1) {
			if !strings.Contains(text, "/") {
				text += "/32"
			}
			if p, err := netip.ParsePrefix(text); err == nil && p.Bits() >= in.Bits() && in.Contains(p.Addr()) {
				return hint.Errorf("--service-cidr takes another range", "the table %s of nftables has rules for %s, which is in the range %s of Services", table, p, in)
			}
		}
	}
	return nil
}
