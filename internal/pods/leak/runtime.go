package leak

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/internal/cri"
)

// Runtime is what is known of the runtime's places on the host. A field is "" where the
// runtime does not show it.
type Runtime struct {
	// Socket is the path of its socket, PID its process.
	Socket string
	PID    int
	// StateDir is containerd's. ExitDir is where CRI-O's conmons report exits.
	StateDir, ExitDir string
	// NamespaceDir has the network namespaces; OwnNamespaces: it has no others.
	NamespaceDir  string
	OwnNamespaces bool
	// Networks are the directories in which host-local has the addresses of the networks that it
	// has loaded, as far as it shows them: …/NETWORK.
	Networks []string
	// CgroupRoot is the name of the cgroup that podctl has for this runtime only.
	CgroupRoot string
}

// namespaces is where network namespaces are that have no other place.
const namespaces = "/run/netns"

// newRuntime is what the configuration that a runtime shows says of its places. It is the zero
// Runtime for one of another form.
func newRuntime(config cri.RuntimeConfig) (r Runtime) {
	switch {
	case config.CRIO != nil:
		r.ExitDir, r.NamespaceDir = config.CRIO.ContainerExitsDir, namespaces
		if dir := config.CRIO.NamespacesDir; dir != "" && dir != "/var/run" && dir != "/run" { // which others use, too
			r.NamespaceDir, r.OwnNamespaces = filepath.Join(dir, "netns"), true
		}
	case config.StateDir != "":
		r.StateDir, r.NamespaceDir = filepath.Dir(config.StateDir), namespaces
		if config.NetNSInStateDir {
			r.NamespaceDir, r.OwnNamespaces = filepath.Join(config.StateDir, "netns"), true
		}
	}
	if config.CNI == nil {
		return r
	}
	for _, n := range config.CNI.Networks {
		for _, p := range n.Config.Plugins {
			r.Networks = appendNetwork(r.Networks, n.Config.Name, []byte(p.Source))
		}
	}
	return r
}

// appendNetwork appends the directory of the network's addresses, if the configuration of a plugin
// has them with host-local.
func appendNetwork(dirs []string, network string, plugin []byte) []string {
	var p struct {
		IPAM struct {
			Type    string `json:"type"`
			DataDir string `json:"dataDir"`
		} `json:"ipam"`
	}
	if json.Unmarshal(plugin, &p) != nil || p.IPAM.Type != "host-local" || filepath.Base(network) != network {
		return dirs
	}
	data := cmp.Or(p.IPAM.DataDir, leaseDir)
	if !filepath.IsAbs(data) {
		return dirs
	}
	if dir := filepath.Join(data, network); !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
