package leak

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// leaseDir is where host-local, the CNI plugin for addresses, keeps a file of each
	// address: NETWORK/ADDRESS, unless its configuration has another directory.
	leaseDir = "/var/lib/cni/networks"
	// maxNetworks and maxLeases bound what is read of all directories.
	maxNetworks = 1024
	maxLeases   = 65536
	// maxLeaseFile bounds a file, in bytes.
	maxLeaseFile = 4 << 10
)

// readLeases reads the leases of host-local.
func (s *scan) readLeases() {
	dirs := []string{leaseDir}
	for _, network := range slices.Concat(s.Runtime.Networks, s.networks) {
		if dir := filepath.Dir(network); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		networks, whole, err := readNames(s.path(dir), maxNetworks)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.cannotRead(dir, err)
		}
		if !whole {
			s.unread("%s has more than %d networks", dir, maxNetworks)
		}
		for _, network := range networks {
			s.readNetwork(filepath.Join(dir, network))
		}
	}
}

// readNetwork reads the leases of one network.
func (s *scan) readNetwork(dir string) {
	if info, err := os.Lstat(s.path(dir)); err != nil || !info.IsDir() {
		return
	}
	names, whole, err := readNames(s.path(dir), maxLeases-s.leases)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cannotRead(dir, err)
	}
	if !whole {
		s.unread("there are more than %d addresses", maxLeases)
	}
	for _, name := range names {
		ip, err := netip.ParseAddr(name)
		if err != nil {
			continue // a lock, or the last address
		}
		s.leases++
		path := filepath.Join(dir, name)
		id, inside, info, err := readLease(s.path(path))
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was released
		case err != nil:
			s.cannotRead(path, err)
		case id != "":
			s.add(Thing{Kind: Lease, ID: id, Path: path, Name: name + " of network " + filepath.Base(dir), Since: info.ModTime(), Address: Address{inside, ip}})
		}
	}
}

// readLease returns the id that has a lease and the interface for which it was taken, "" if the file
// has none.
func readLease(path string) (id, inside string, info fs.FileInfo, err error) {
	f, err := bounded.OpenNoFollow(path)
	if err != nil {
		return "", "", nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	if info, err = f.Stat(); err != nil {
		return "", "", nil, err
	}
	text, err := bounded.All(f, maxLeaseFile)
	id, inside, _ = strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(id), strings.TrimSpace(inside), info, err
}
