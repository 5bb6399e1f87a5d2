package leak

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	// cacheDir is where runtimes keep what their CNI plugins answered:
	// NETWORK-ID-INTERFACE.
	cacheDir = "/var/lib/cni/results"
	// maxCached bounds how many are read, maxCachedFile each of them in bytes.
	maxCached     = 16384
	maxCachedFile = 1 << 20
)

// cachedInfo is the part of libcni's cachedInfo that is read.
type cachedInfo struct {
	ContainerID    string      `json:"containerId"`
	Config         []byte      `json:"config"`
	NetNS          string      `json:"netns"`
	Args           [][2]string `json:"cniArgs"`
	CapabilityArgs struct {
		CgroupPath string `json:"cgroupPath"`
	} `json:"capabilityArgs"`
}

// readCache reads the CNI cache: of which sandbox a network namespace is, of which pod the
// sandbox, and where the addresses of its network are kept.
func (s *scan) readCache() {
	names, whole, err := readNames(s.path(cacheDir), maxCached)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cannotRead(cacheDir, err)
	}
	if !whole {
		s.unread("%s has more than %d files", cacheDir, maxCached)
	}
	for _, name := range names {
		text, err := bounded.ReadNoFollow(filepath.Join(s.path(cacheDir), name), maxCachedFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var c cachedInfo
		if err != nil || json.Unmarshal(text, &c) != nil || c.ContainerID == "" {
			continue // another program's: it says nothing of an id
		}
		args := map[string]string{}
		for _, a := range c.Args {
			args[a[0]] = a[1]
		}
		t := Trace{NetworkNamespace: proc.ResolvedPath(c.NetNS), CgroupParent: c.CapabilityArgs.CgroupPath}
		if args["K8S_POD_INFRA_CONTAINER_ID"] == c.ContainerID {
			t.CRI = true
			t.Pod = pod.CNIIdentity(args)
		}
		s.trace(c.ContainerID, t)
		s.readNetworks(c.Config, s.listed[c.ContainerID] || s.Runtime.ownsNamespace(t.NetworkNamespace))
	}
}

// readNetworks reads where the addresses of a network are. ours: a sandbox of the runtime has it.
func (s *scan) readNetworks(config []byte, ours bool) {
	var network struct {
		Name    string            `json:"name"`
		Plugins []json.RawMessage `json:"plugins"`
	}
	if json.Unmarshal(config, &network) != nil {
		return
	}
	for _, p := range network.Plugins {
		s.networks = appendNetwork(s.networks, network.Name, p)
		if ours {
			s.Runtime.Networks = appendNetwork(s.Runtime.Networks, network.Name, p)
		}
	}
}

// readNames returns at most limit names of a directory; whole is false if there are more.
func readNames(dir string, limit int) (names []string, whole bool, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, true, err
	}
	defer func() { _ = d.Close() }() // it is only read
	names, err = d.Readdirnames(limit + 1)
	if len(names) > limit {
		return names[:limit], false, nil
	}
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return names, true, err
}

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
