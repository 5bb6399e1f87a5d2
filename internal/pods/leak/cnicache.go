package leak

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
