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
	CRIO                *struct {
		EnablePodEvents bool `json:"EnablePodEvents"`
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
		if config.CRIO != nil {
			c.Events = &config.CRIO.EnablePodEvents
		}
	}
	var cni cniConfig
	if text := info["cniconfig"]; text != "" && json.Unmarshal([]byte(text), &cni) == nil {
		c.CNI = CNI{Shown: true, BinDirs: cni.PluginDirs, ConfDir: cni.PluginConfDir, LoadStatus: info["lastCNILoadStatus"]}
		for _, n := range cni.Networks {
			network := Network{Name: n.Config.Name}
			for _, p := range n.Config.Plugins {
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
