package leak

import (
	"encoding/json"
	"path/filepath"
	"slices"
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
	// Networks are the names of those that it has loaded. LeaseDirs are those that the runtime shows of host-local, beside its default.
	Networks, LeaseDirs []string
	// CgroupRoot is the name of the cgroup that podctl has for this runtime only.
	CgroupRoot string
}

// namespaces is where network namespaces are that have no other place.
const namespaces = "/run/netns"

// ReadRuntime reads the verbose status. It is the zero Runtime for one of another form.
func ReadRuntime(info map[string]string) (r Runtime) {
	var config struct {
		StateDir        string `json:"stateDir"` // …/io.containerd.grpc.v1.cri
		NetnsUnderState bool   `json:"netnsMountsUnderStateDir"`
		CRIO            *struct {
			ContainerExitsDir string `json:"ContainerExitsDir"`
			NamespacesDir     string `json:"NamespacesDir"`
		} `json:"crio"`
	}
	if json.Unmarshal([]byte(info["config"]), &config) != nil {
		return Runtime{}
	}
	switch {
	case config.CRIO != nil:
		r.ExitDir, r.NamespaceDir = config.CRIO.ContainerExitsDir, namespaces
		if dir := config.CRIO.NamespacesDir; dir != "" && dir != "/var/run" && dir != "/run" { // which others use, too
			r.NamespaceDir, r.OwnNamespaces = filepath.Join(dir, "netns"), true
		}
	case config.StateDir != "":
		r.StateDir, r.NamespaceDir = filepath.Dir(config.StateDir), namespaces
		if config.NetnsUnderState {
			r.NamespaceDir, r.OwnNamespaces = filepath.Join(config.StateDir, "netns"), true
		}
	}
	r.readNetworks(info["cniconfig"])
	return r
}

// readNetworks reads containerd's "cniconfig", which shows the directories of host-local only in
// the text of a plugin's configuration.
func (r *Runtime) readNetworks(text string) {
	var cni struct {
		Networks []struct {
			Config struct {
				Name    string
				Plugins []struct{ Source string }
			}
		}
	}
	if text == "" || json.Unmarshal([]byte(text), &cni) != nil {
		return
	}
	for _, n := range cni.Networks {
		r.Networks = append(r.Networks, n.Config.Name)
		for _, p := range n.Config.Plugins {
			r.LeaseDirs = appendLeaseDir(r.LeaseDirs, []byte(p.Source))
		}
	}
}

// appendLeaseDir appends the directory of host-local that a plugin's configuration names.
func appendLeaseDir(dirs []string, plugin []byte) []string {
	var p struct {
		IPAM struct {
			Type    string `json:"type"`
			DataDir string `json:"dataDir"`
		} `json:"ipam"`
	}
	if json.Unmarshal(plugin, &p) != nil || p.IPAM.Type != "host-local" || !filepath.IsAbs(p.IPAM.DataDir) {
		return dirs
	}
	if dir := filepath.Clean(p.IPAM.DataDir); !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}
