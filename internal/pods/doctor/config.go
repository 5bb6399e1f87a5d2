package doctor

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/sys/proc"
)

// loopback is the network that containerd configures by itself.
const loopback = "cni-loopback"

// newConfig is what is checked of the configuration that the runtime shows.
func newConfig(shown cri.RuntimeConfig) Config {
	c := Config{Shown: shown.Shown, RestrictOOM: shown.RestrictOOM}
	if shown.CRIO != nil {
		c.Events = &shown.CRIO.EnablePodEvents
	}
	if shown.CNI == nil {
		return c
	}
	c.CNI = CNI{Shown: true, BinDirs: shown.CNI.PluginDirs, ConfDir: shown.CNI.PluginConfDir, LoadStatus: shown.CNI.LoadStatus}
	for _, n := range shown.CNI.Networks {
		network := Network{Name: n.Config.Name}
		for _, p := range n.Config.Plugins {
			for _, program := range []string{p.Network.Type, p.Network.IPAM.Type} {
				if program != "" && !slices.Contains(network.Plugins, program) {
					network.Plugins = append(network.Plugins, program)
				}
			}
			if network.Pool == nil {
				network.Pool = newPool(network.Name, []byte(p.Source))
			}
		}
		if network.Name != loopback || len(network.Plugins) != 1 {
			c.CNI.Networks = append(c.CNI.Networks, network)
		}
	}
	return c
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
		if n.Pool != nil {
			n.Pool.read(root)
		}
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
