package services

import (
	"net/netip"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
	"github.com/podctl/podctl/internal/sys/proc"
)

var (
	tableLine    = lazyregexp.New(`^table (\S+ \S+) \{`)
	chainLine    = lazyregexp.New(`^\s+chain (\S+) \{`)
	addressInSet = lazyregexp.New(`\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?\b`)
)

const clusters = "the Services of a cluster's node are the cluster's; --service-cidr none runs pods beside them"

// findServer returns an error if a process of the network namespace of self serves Services: its rules may be where
// nft does not show them, those of iptables-legacy, IPVS or eBPF. Only root writes rules; any user may name a process.
func findServer(procs proc.FS, self int) error {
	own, err := procs.Namespace(self, "net")
	if err != nil {
		return err
	}
	pids, err := procs.PIDs()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		switch comm := procs.Comm(pid); comm {
		case "kube-proxy", "cilium-agent", "k3s-server", "k3s-agent":
			if p, err := procs.Read(pid); err == nil && p.UID != 0 {
				continue
			}
			if theirs, err := procs.Namespace(pid, "net"); err != nil || theirs == own {
				return hint.Errorf(clusters, "%s (pid %d) serves Services on this host", comm, pid)
			}
		}
	}
	return nil
}

// findConflict returns an error if rules, as nft lists them, are of a kube-proxy, or name an address of
// the range. Rules for a network around it, such as 10.0.0.0/8, do not count, nor those of the CNI plugin portmap, where
// the address is the hostIP of a pod.
func findConflict(ruleset string, in netip.Prefix) error {
	table, chain := "", ""
	for line := range strings.Lines(ruleset) {
		if m := tableLine().FindStringSubmatch(line); m != nil {
			table, chain = m[1], ""
			if strings.HasSuffix(table, " kube-proxy") {
				return hint.Errorf(clusters, "a kube-proxy serves Services on this host: nftables has its table %s", table)
			}
			continue
		}
		if m := chainLine().FindStringSubmatch(line); m != nil {
			chain = m[1]
		}
		switch {
		case table == "ip "+TableName, strings.HasSuffix(table, " cni_hostport"), strings.HasPrefix(chain, "CNI-HOSTPORT-"), strings.HasPrefix(chain, "CNI-DN-"):
			continue
		case strings.HasPrefix(chain, "KUBE-SERVICES"):
			return hint.Errorf(clusters, "a kube-proxy serves Services on this host: nftables has its chain %s in the table %s", chain, table)
		}
		for _, text := range addressInSet().FindAllString(line, -1) {
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
