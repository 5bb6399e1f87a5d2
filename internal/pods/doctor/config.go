package doctor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/internal/sys/proc"
)

// criConfig is what is read of the verbose status: containerd's and CRI-O's names.
type criConfig struct {
	SandboxImage        string `json:"sandboxImage"`
	RestrictOOMScoreAdj bool   `json:"restrictOOMScoreAdj"`
	StateDir            string `json:"stateDir"`
	NetnsUnderState     bool   `json:"netnsMountsUnderStateDir"`
	CRIO                *struct {
		EnablePodEvents bool   `json:"EnablePodEvents"`
		NamespacesDir   string `json:"NamespacesDir"`
	} `json:"crio"`
}

// cniConfig is containerd's "cniconfig".
type cniConfig struct {
	PluginDirs    []string
	PluginConfDir string
	Networks      []struct {
		Config struct {
			Name    string
			Plugins []struct {
				Network struct {
					Type string `json:"type"`
					IPAM struct {
						Type string `json:"type"`
					} `json:"ipam"`
				}
				// Source is all of its configuration.
				Source string
			}
		}
	}
}

// loopback is the network that containerd configures by itself.
const loopback = "cni-loopback"

// readConfig reads the verbose status. What has another form is not shown.
func readConfig(info map[string]string) (c Config, sandboxImage string) {
	var config criConfig
	if json.Unmarshal([]byte(info["config"]), &config) == nil {
		c.Shown, c.RestrictOOM = true, config.RestrictOOMScoreAdj
		if config.StateDir != "" { // …/io.containerd.grpc.v1.cri
			c.StateDir = filepath.Dir(config.StateDir)
		}
		if config.NetnsUnderState && config.StateDir != "" {
			c.NamespaceDir = filepath.Join(config.StateDir, "netns")
		}
		if config.CRIO != nil {
			c.Events = &config.CRIO.EnablePodEvents
			if dir := config.CRIO.NamespacesDir; dir != "" && dir != "/var/run" && dir != "/run" { // which others use, too
				c.NamespaceDir = filepath.Join(dir, "netns")
			}
		}
	}
	var cni cniConfig
	if text := info["cniconfig"]; text != "" && json.Unmarshal([]byte(text), &cni) == nil {
		c.CNI = CNI{Shown: true, BinDirs: cni.PluginDirs, ConfDir: cni.PluginConfDir, LoadStatus: info["lastCNILoadStatus"]}
		for _, n := range cni.Networks {
			network := Network{Name: n.Config.Name}
			for _, p := range n.Config.Plugins {
				var source struct {
					IPAM struct {
						DataDir string `json:"dataDir"`
					} `json:"ipam"`
				}
				if json.Unmarshal([]byte(p.Source), &source) == nil && p.Network.IPAM.Type == "host-local" && filepath.IsAbs(source.IPAM.DataDir) {
					network.LeaseDir = source.IPAM.DataDir
				}
				for _, program := range []string{p.Network.Type, p.Network.IPAM.Type} {
					if program != "" && !slices.Contains(network.Plugins, program) {
						network.Plugins = append(network.Plugins, program)
					}
				}
			}
			if network.Name != loopback || len(network.Plugins) != 1 {
				c.CNI.Networks = append(c.CNI.Networks, network)
			}
		}
	}
	return c, config.SandboxImage
}

// find looks for the programs, as the runtime sees the file system if its process is
// visible.
func (c *CNI) find(server int) {
	root := "/"
	if server != 0 {
		root = proc.Default.Root(server)
		if _, err := os.Stat(root); err != nil {
			root = "/"
		}
	}
	for i := range c.Networks {
		n := &c.Networks[i]
		for _, program := range n.Plugins {
			if !slices.ContainsFunc(c.BinDirs, func(dir string) bool {
				info, err := os.Stat(filepath.Join(root, dir, program))
				return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
			}) {
				n.Missing = append(n.Missing, program)
			}
		}
	}
}

// leaseDirs returns the directories in which host-local keeps leases.
func (c CNI) leaseDirs() []string {
	dirs := []string{leaseDir}
	for _, n := range c.Networks {
		if n.LeaseDir != "" && !slices.Contains(dirs, filepath.Clean(n.LeaseDir)) {
			dirs = append(dirs, filepath.Clean(n.LeaseDir))
		}
	}
	return dirs
}
