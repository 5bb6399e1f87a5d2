package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// leaseDir is where host-local, the CNI plugin for addresses, keeps a file of each
	// address: NETWORK/ADDRESS, unless its configuration has another directory.
	leaseDir = "/var/lib/cni/networks"
	// resultDir is where runtimes keep what their CNI plugins answered:
	// NETWORK-ID-INTERFACE.
	resultDir = "/var/lib/cni/results"
	// maxLeases bounds how many addresses are read, of all networks.
	maxLeases = 65536
	// maxLeaseFile and maxResult bound the files, in bytes.
	maxLeaseFile = 4 << 10
	maxResult    = 1 << 20
)

// Lease is an address that host-local holds for something that the runtime does not list.
type Lease struct {
	Network, Address string
	ID               string // of the sandbox, or of another runtime's container
	// Gone: the network namespace that it was made for does not exist any more. Else its
	// owner is not known: another runtime may have it.
	Gone bool

	file, ifName string
}

// readLeases reads the leases of host-local below its directories, in the file system at
// root, that are old enough to be of nothing that is being created. whole is false if some
// could not be read.
func readLeases(root string, dirs []string, now time.Time) (leases []Lease, whole bool) {
	whole = true
	for _, dir := range dirs {
		networks, err := os.ReadDir(filepath.Join(root, dir))
		whole = whole && (err == nil || errors.Is(err, fs.ErrNotExist))
		for _, network := range networks {
			if !network.IsDir() {
				continue
			}
			d, err := os.Open(filepath.Join(root, dir, network.Name()))
			if err != nil {
				whole = false
				continue
			}
			names, err := d.Readdirnames(maxLeases + 1 - len(leases))
			_ = d.Close() // it was only read
			whole = whole && (err == nil || len(names) == 0)
			for _, name := range names {
				if _, err := netip.ParseAddr(name); err != nil {
					continue // a lock, or the last address
				}
				if len(leases) == maxLeases {
					return leases, false
				}
				l := Lease{Network: network.Name(), Address: name, file: filepath.Join(root, dir, network.Name(), name)}
				switch old, err := l.read(now); {
				case err != nil && !errors.Is(err, fs.ErrNotExist):
					whole = false
				case err == nil && old:
					leases = append(leases, l)
				}
			}
		}
	}
	return leases, whole
}

// read reads whose the lease is, and reports whether it has settled.
func (l *Lease) read(now time.Time) (old bool, err error) {
	f, err := bounded.OpenNoFollow(l.file)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // it is only read
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	text, err := bounded.All(f, maxLeaseFile)
	if err != nil {
		return false, err
	}
	l.ID, l.ifName, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	l.ID, l.ifName = strings.TrimSpace(l.ID), strings.TrimSpace(l.ifName)
	return l.ID != "" && now.Sub(info.ModTime()) > settleTime, nil
}

// unlistedLeases returns the leases that still exist and whose sandbox is not in ids, and sets Gone.
func unlistedLeases(leases []Lease, ids map[string]bool, root string, now time.Time) []Lease {
	var left []Lease
	for _, l := range leases {
		again := l
		if _, err := again.read(now); ids[l.ID] || err != nil || again.ID != l.ID {
			continue
		}
		l.Gone = namespaceGone(root, l)
		left = append(left, l)
	}
	return left
}

// cniResult is what a runtime keeps of an answer of its CNI plugins (cachedInfo of
// libcni).
type cniResult struct {
	NetNS  string `json:"netns"`
	Result struct {
		Interfaces []struct {
			Sandbox string `json:"sandbox"`
		} `json:"interfaces"`
	} `json:"result"`
}

// namespaceGone reports whether the lease was made for a network namespace with a name in
// the file system, which does not exist any more. Where that is not known it has not gone.
func namespaceGone(root string, l Lease) bool {
	if strings.Contains(l.ID+l.ifName, "/") {
		return false
	}
	f, err := bounded.OpenNoFollow(filepath.Join(root, resultDir, l.Network+"-"+l.ID+"-"+l.ifName))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it is only read
	text, err := bounded.All(f, maxResult)
	var result cniResult
	if err != nil || json.Unmarshal(text, &result) != nil {
		return false
	}
	paths := map[string]bool{result.NetNS: true}
	for _, i := range result.Result.Interfaces {
		paths[i.Sandbox] = true // "" of one of the host
	}
	delete(paths, "")
	for path := range paths {
		// A process that has exited says nothing of its namespace.
		if !filepath.IsAbs(path) || strings.HasPrefix(filepath.Clean(path), "/proc/") || !isNotNetNamespace(filepath.Join(root, path)) {
			return false
		}
	}
	return len(paths) > 0
}
