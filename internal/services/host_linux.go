package services

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/knftables"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// addressLabel marks DNSAddress as podctl's own.
const addressLabel = "lo:podctl"

// nftTimeout bounds one call of nft.
const nftTimeout = 10 * time.Second

// Host serves Services in podctl's network namespace. Make one with NewHost.
type Host struct {
	in     netip.Prefix
	server *Server
	log    *slog.Logger

	// serve answers queries from the first zone on, at sockets that closeSockets closes.
	serve, closeSockets func()
	nft                 knftables.Interface
	rules               *Rules
	// flows are the UDP flows that the Services may have that were applied last.
	flows map[string]bool
}

// NewHost returns a host that serves nothing yet.
func NewHost(in netip.Prefix, resolvers func() []string, log *slog.Logger) *Host {
	return &Host{in: in, server: NewServer(resolvers, isOfHost, log), log: log}
}

// Start implements Backend. What another process has left in the table stays until Apply replaces it.
func (h *Host) Start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, nftTimeout)
	defer cancel()
	udp, tcp, err := lockAddress(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAddress())
			_, _ = udp.Close(), tcp.Close()
		}
	}()
	if h.nft, err = knftables.New(knftables.IPv4Family, TableName); err != nil {
		return nftError(err)
	}
	if err := h.check(ctx); err != nil {
		return err
	}
	filtered, err := os.ReadFile("/proc/sys/net/bridge/bridge-nf-call-iptables")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	h.rules = &Rules{Range: h.in, BridgeFiltered: strings.TrimSpace(string(filtered)) == "1"}
	h.serve = sync.OnceFunc(func() { h.server.Serve(udp, tcp) })
	h.closeSockets = func() { _, _ = udp.Close(), tcp.Close() }
	return nil
}

// Apply serves the Services, in one change.
func (h *Host) Apply(ctx context.Context, all []Service, pods []PodAddress) error {
	ctx, cancel := context.WithTimeout(ctx, nftTimeout)
	defer cancel()
	h.server.SetZone(NewZone(all, h.in, pods))
	h.serve()
	if err := h.apply(ctx, all); err != nil {
		return err
	}
	if err := h.forgetFlows(all); err != nil { // the Services are served
		h.log.Warn("UDP clients may go on sending to endpoints that are gone", "err", err)
	}
	return nil
}

// forgetFlows has the kernel forget UDP flows to endpoints that are no longer behind their Service: without an end, a
// flow is followed for as long as its client sends.
func (h *Host) forgetFlows(all []Service) error {
	f := staleFlows{in: h.in, live: map[string]bool{}, before: h.flows}
	for i := range all {
		for n, p := range all[i].Ports {
			for _, b := range all[i].Backends(n) {
				if p.Protocol == v1.ProtocolUDP {
					f.live[flowKey(all[i].Address, p.Port, b.Address, b.Ports[n])] = true
					f.live[flowKey("", p.NodePort, b.Address, b.Ports[n])] = true
				}
			}
		}
	}
	var err error
	for try := 0; len(f.live)+len(f.before) > 0 && (try == 0 || errors.Is(err, netlink.ErrDumpInterrupted) && try < 5); try++ {
		_, err = netlink.ConntrackDeleteFilters(netlink.ConntrackTable, unix.AF_INET, f)
	}
	if err != nil { // these are looked for the next time, too
		maps.Copy(f.live, f.before)
	}
	h.flows = f.live
	return err
}

// staleFlows matches UDP flows to endpoints that are no longer behind their Service. Those to a node port were before:
// others may have flows to this port.
type staleFlows struct {
	in           netip.Prefix
	live, before map[string]bool
}

// MatchConntrackFlow implements netlink.CustomConntrackFilter.
func (f staleFlows) MatchConntrackFlow(flow *netlink.ConntrackFlow) bool {
	to, ok := netip.AddrFromSlice(flow.Forward.DstIP.To4())
	key := func(to string) string {
		return flowKey(to, int32(flow.Forward.DstPort), flow.Reverse.SrcIP.String(), int32(flow.Reverse.SrcPort))
	}
	return ok && flow.Forward.Protocol == unix.IPPROTO_UDP &&
		(f.in.Contains(to) && !f.live[key(to.String())] || f.before[key("")] && !f.live[key("")])
}

func flowKey(address string, port int32, endpoint string, endpointPort int32) string {
	return fmt.Sprintf("%s:%d %s:%d", address, port, endpoint, endpointPort)
}

func (h *Host) apply(ctx context.Context, all []Service) error {
	if err := h.nft.Run(ctx, h.rules.Transaction(h.nft, all)); err != nil {
		h.rules.chains = nil // the next writes the whole table again
		return nftError(err)
	}
	return nil
}

// Stop ends serving. Unless the rules are kept for pods that go on running, nothing is left.
func (h *Host) Stop(keep bool) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), nftTimeout)
	defer cancel()
	if !keep {
		err = errors.Join(deleteTable(ctx, h.nft), removeAddress())
	}
	h.server.Close()
	h.closeSockets() // nothing may have been applied, and so served
	return err
}

// Remove removes what killed podctls have left, with their PartsDir, and reports whether there was something. It is left
// alone where a podctl serves.
func Remove(ctx context.Context, parts string, dryRun bool) (removed bool, err error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return false, err
	}
	hadAddress, _, err := findAddress(lo)
	if err != nil {
		return false, err
	}
	left := hadAddress
	nft, err := knftables.New(knftables.IPv4Family, TableName)
	if err == nil {
		// Without nft, or without the right to call it, nothing was made.
		if _, missing := nft.List(ctx, "chains"); missing == nil {
			left = true
		}
	}
	if !left {
		return false, nil
	}
	udp, tcp, lockErr := lockAddress(ctx)
	if errors.Is(lockErr, ErrServedElsewhere) {
		return false, nil
	}
	if lockErr != nil {
		return false, lockErr
	}
	defer func() { _, _ = udp.Close(), tcp.Close() }()
	switch {
	case dryRun && hadAddress:
		return true, nil
	case err == nil && !dryRun:
		err = errors.Join(deleteTable(ctx, nft), os.RemoveAll(parts))
	}
	return true, errors.Join(err, removeAddress())
}

func deleteTable(ctx context.Context, nft knftables.Interface) error {
	tx := nft.NewTransaction()
	tx.Add(&knftables.Table{}) // so that it is no error if there is none
	tx.Delete(&knftables.Table{})
	return nft.Run(ctx, tx)
}

// lockAddress binds DNSAddress, which one process of a network namespace can.
func lockAddress(ctx context.Context) (udp net.PacketConn, tcp net.Listener, err error) {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, nil, err
	}
	own, others, err := findAddress(lo)
	switch {
	case err != nil:
		return nil, nil, err
	case others != "":
		return nil, nil, hint.Errorf("NodeLocal DNSCache has this address: the Services of a cluster's node are the cluster's", "%s is an address of %s already", DNSAddress, others)
	case !own:
		err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: netlink.NewIPNet(net.ParseIP(DNSAddress)), Label: addressLabel})
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, nil, nftError(fmt.Errorf("add the address %s: %w", DNSAddress, err))
		}
	}
	var config net.ListenConfig
	if tcp, err = config.Listen(ctx, "tcp4", net.JoinHostPort(DNSAddress, "53")); err == nil {
		if udp, err = config.ListenPacket(ctx, "udp4", net.JoinHostPort(DNSAddress, "53")); err != nil {
			_ = tcp.Close()
		}
	}
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, nil, ErrServedElsewhere
	}
	return udp, tcp, err
}

// findAddress reports whether DNSAddress is there as podctl's own, and otherwise who has it.
func findAddress(lo netlink.Link) (own bool, other string, err error) {
	all, err := netlink.AddrList(nil, netlink.FAMILY_V4)
	if err != nil {
		return false, "", err
	}
	for _, a := range all {
		switch {
		case a.IP.String() != DNSAddress:
		case a.LinkIndex == lo.Attrs().Index && a.Label == addressLabel:
			own = true
		default:
			other = a.Label
		}
	}
	return own, other, nil
}

func removeAddress() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	err = netlink.AddrDel(lo, &netlink.Addr{IPNet: netlink.NewIPNet(net.ParseIP(DNSAddress)), Label: addressLabel})
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		return nil
	}
	return err
}

// check refuses a host on which others have Services, or the range.
func (h *Host) check(ctx context.Context) error {
	if err := findServer(proc.Default, os.Getpid()); err != nil {
		return err
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return fmt.Errorf("read routes: %w", err)
	}
	if err := findRoute(routes, h.in); err != nil {
		return err
	}
	rules, err := exec.CommandContext(ctx, "nft", "-n", "list", "ruleset").Output() // only root writes rules
	if err != nil {
		return nftError(fmt.Errorf("nft list ruleset: %w", err))
	}
	return findConflict(string(rules), h.in)
}

// findRoute returns an error if a route, but a default one, overlaps the range.
func findRoute(routes []netlink.Route, in netip.Prefix) error {
	for _, r := range routes {
		if r.Dst == nil {
			continue
		}
		ones, _ := r.Dst.Mask.Size()
		if addr, ok := netip.AddrFromSlice(r.Dst.IP.To4()); ok && ones > 0 && in.Overlaps(netip.PrefixFrom(addr, ones)) {
			return hint.Errorf("--service-cidr takes another range", "the range %s of Services overlaps the route %s of this host", in, r.Dst)
		}
	}
	return nil
}

// nftError adds what to do about an error of nft.
func nftError(err error) error {
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return hint.With(errors.New("nft is not installed"), "install the package nftables")
	case os.Geteuid() != 0:
		return hint.With(errors.New("rules of the host's network take root"), "run podctl as root, for instance with sudo")
	}
	return err
}
