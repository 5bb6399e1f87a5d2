package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/sys/plural"
)

// Pool is the addresses that host-local has for a network.
type Pool struct {
	Dir string // its files, one for each address that is taken, as the runtime sees it
	// Total is how many addresses pods can have, at most maxPool; Taken is how many of them have a file.
	Total, Taken int
	Err          error // why Taken is not known

	gateways []netip.Addr // which no pod has
}

const (
	leaseDir = "/var/lib/cni/networks"
	// maxPool bounds what is counted: a larger pool is not exhausted by the pods of a node.
	maxPool = 1 << 16
)

// addressRange is a range of host-local's configuration.
type addressRange struct {
	Subnet     string `json:"subnet"`
	RangeStart string `json:"rangeStart"`
	RangeEnd   string `json:"rangeEnd"`
	Gateway    string `json:"gateway"`
}

// bounds returns the first and the last address of a range, and the one of its gateway, which no pod has.
func (r addressRange) bounds() (first, last, gateway netip.Addr, ok bool) {
	subnet, err := netip.ParsePrefix(r.Subnet)
	if err != nil {
		return first, last, gateway, false
	}
	subnet = subnet.Masked()
	first = subnet.Addr().Next()
	end := subnet.Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(end)*8; bit++ {
		end[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ = netip.AddrFromSlice(end)
	if gateway = first; r.Gateway != "" {
		gateway, _ = netip.ParseAddr(r.Gateway)
	}
	if last.Is4() {
		last = last.Prev() // broadcast
	}
	if at, err := netip.ParseAddr(r.RangeStart); err == nil {
		first = at
	}
	if at, err := netip.ParseAddr(r.RangeEnd); err == nil {
		last = at
	}
	return first, last, gateway, first.IsValid() && last.IsValid() && first.BitLen() == last.BitLen() && !last.Less(first)
}

// newPool returns the pool of a plugin's configuration, nil if host-local has none for it.
func newPool(network string, plugin []byte) *Pool {
	var p struct {
		IPAM struct {
			Type    string           `json:"type"`
			DataDir string           `json:"dataDir"`
			Ranges  [][]addressRange `json:"ranges"`
			addressRange
		} `json:"ipam"`
	}
	if json.Unmarshal(plugin, &p) != nil || p.IPAM.Type != "host-local" || network == "" || network == ".." || filepath.Base(network) != network {
		return nil
	}
	sets := p.IPAM.Ranges
	if p.IPAM.Subnet != "" {
		sets = append(sets, []addressRange{p.IPAM.addressRange})
	}
	// A pod has one address of each set: the smallest decides.
	pool := &Pool{Dir: filepath.Join(cmp.Or(p.IPAM.DataDir, leaseDir), network)}
	for _, set := range sets {
		total := 0
		for _, r := range set {
			if first, last, gateway, ok := r.bounds(); ok {
				total = min(total+count(first, last), maxPool)
				if total < maxPool && !gateway.Less(first) && !last.Less(gateway) {
					total--
				}
				pool.gateways = append(pool.gateways, gateway)
			}
		}
		if total > 0 && (pool.Total == 0 || total < pool.Total) {
			pool.Total = total
		}
	}
	if pool.Total == 0 {
		return nil
	}
	return pool
}

// count returns how many addresses there are from one to another, at most maxPool.
func count(first, last netip.Addr) int {
	n := new(big.Int).Sub(new(big.Int).SetBytes(last.AsSlice()), new(big.Int).SetBytes(first.AsSlice()))
	if !n.IsInt64() || n.Int64() >= maxPool {
		return maxPool
	}
	return int(n.Int64()) + 1
}

// read counts the addresses that are taken, below a root directory.
func (p *Pool) read(root string) {
	d, err := os.Open(filepath.Join(root, p.Dir))
	if err != nil {
		if !os.IsNotExist(err) {
			p.Err = err
		}
		return
	}
	defer func() { _ = d.Close() }() // it is only read
	names, _ := d.Readdirnames(maxPool + 16)
	families := map[bool]int{}
	for _, name := range names {
		if at, err := netip.ParseAddr(name); err == nil && !slices.Contains(p.gateways, at) {
			families[at.Is4()]++
		}
	}
	p.Taken = max(families[true], families[false])
}

func checkPools(f Facts, r *report) {
	for _, n := range f.Runtime.Config.CNI.Networks {
		p := n.Pool
		if p == nil {
			continue
		}
		if p.Err != nil {
			r.info("how many addresses of network %s are taken is not known: %v", n.Name, p.Err)
			continue
		}
		gone := 0
		things := slices.Clone(f.Pods.Leaks.Unlisted)
		for _, l := range f.Pods.Leaks.Leaks {
			things = append(things, l.Things...)
		}
		for _, t := range things {
			if t.Kind == leak.Lease && strings.HasPrefix(t.Path, p.Dir+"/") {
				gone++
			}
		}
		text := fmt.Sprintf("%d of %d addresses of network %s are taken", p.Taken, p.Total, n.Name)
		if gone > 0 {
			text += ", " + plural.Of(gone, "address") + " by nothing that this runtime lists: files of " + p.Dir
		}
		hint := "podctl orphans lists those of pods that are gone; else widen the subnet of the network"
		switch {
		case p.Taken >= p.Total:
			r.fail(hint, "%s; no other pod can have one", text)
		case p.Taken*10 >= p.Total*9:
			r.warn(hint, "%s", text)
		default:
			r.ok("%s", text)
		}
	}
}
