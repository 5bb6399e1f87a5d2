package cri

import (
	"context"
	"encoding/json"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RuntimeConfig is what the verbose status of containerd or CRI-O shows of the runtime's
// configuration. A zero field is not shown.
type RuntimeConfig struct {
	// Shown: there is one in a known form.
	Shown bool `json:"-"`
	// SandboxImage is the image of sandboxes; containerd since 2.0 does not name it.
	SandboxImage string `json:"sandboxImage"`
	// RestrictOOM: containerd does not lower an oom_score_adj.
	RestrictOOM bool `json:"restrictOOMScoreAdj"`
	// EnableCDI and CDISpecDirs are containerd's.
	EnableCDI   *bool    `json:"enableCDI"`
	CDISpecDirs []string `json:"cdiSpecDirs"`
	// StateDir is …/io.containerd.grpc.v1.cri of containerd. NetNSInStateDir: it has the network
	// namespaces.
	StateDir        string `json:"stateDir"`
	NetNSInStateDir bool   `json:"netnsMountsUnderStateDir"`
	// CRIO is nil for another runtime.
	CRIO *ConfigOfCRIO `json:"crio"`
	// CNI is the network configuration that containerd has loaded, nil for another runtime.
	CNI *CNIConfig `json:"-"`
}

// ConfigOfCRIO is the configuration of CRI-O.
type ConfigOfCRIO struct {
	EnablePodEvents bool
	CDISpecDirs     []string
	// ContainerExitsDir is where its conmons report exits, NamespacesDir where it has the
	// namespaces of pods.
	ContainerExitsDir, NamespacesDir string
}

// CNIConfig is containerd's "cniconfig".
type CNIConfig struct {
	PluginDirs    []string
	PluginConfDir string
	Networks      []struct {
		Config struct {
			Name    string
			Plugins []CNIPlugin
		}
	}
	// LoadStatus is "OK" or why no configuration was loaded.
	LoadStatus string `json:"-"`
}

// CNIPlugin is one plugin of a network.
type CNIPlugin struct {
	Network struct {
		Type string `json:"type"`
		IPAM struct {
			Type string `json:"type"`
		} `json:"ipam"`
	}
	// Source is the text of its configuration, with what Network does not have.
	Source string
}

// RuntimeConfig asks the runtime for what it shows of its configuration.
func (c *Client) RuntimeConfig(ctx context.Context) (RuntimeConfig, error) {
	r, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{Verbose: true})
	if err != nil {
		return RuntimeConfig{}, err
	}
	return ReadRuntimeConfig(r.Info), nil
}

// ReadRuntimeConfig reads the verbose status. What has another form is not shown.
func ReadRuntimeConfig(info map[string]string) (c RuntimeConfig) {
	if json.Unmarshal([]byte(info["config"]), &c) == nil {
		c.Shown = true
	} else {
		c = RuntimeConfig{}
	}
	var cni CNIConfig
	if text := info["cniconfig"]; text != "" && json.Unmarshal([]byte(text), &cni) == nil {
		cni.LoadStatus = info["lastCNILoadStatus"]
		c.CNI = &cni
	}
	return c
}
