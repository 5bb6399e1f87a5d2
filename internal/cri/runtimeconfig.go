package cri

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

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
	// Containerd has the handlers of containerd.
	Containerd struct {
		DefaultRuntimeName string
		Runtimes           map[string]struct {
			RuntimeType string
			Options     json.RawMessage
		}
	} `json:"containerd"`
	// CRIO is nil for another runtime.
	CRIO *ConfigOfCRIO `json:"crio"`
	// CNI is the network configuration that containerd has loaded, nil for another runtime.
	CNI *CNIConfig `json:"-"`
}

// ConfigOfCRIO is the configuration of CRI-O.
type ConfigOfCRIO struct {
	EnablePodEvents bool
	// CgroupManagerName is its cgroup driver.
	CgroupManagerName string
	CDISpecDirs       []string
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

// The cgroup drivers, as the CRI's RuntimeConfig names them.
const (
	DriverCgroupfs = "cgroupfs"
	DriverSystemd  = "systemd"
)

// CgroupDrivers are the drivers with which a runtime makes the cgroups of containers:
// cgroupfs or systemd.
type CgroupDrivers struct {
	// Default is that of the default handler and of those that do not have another, "" if the
	// runtime does not say.
	Default string
	// ByHandler are those of handlers which name one.
	ByHandler map[string]string
	// Named: Default is the answer to RuntimeConfig, which a kubelet asks, too.
	Named bool
}

// Of returns the driver of a handler, "" is the default one.
func (d CgroupDrivers) Of(handler string) string { return cmp.Or(d.ByHandler[handler], d.Default) }

// Others are the handlers with another driver than the default one, sorted.
func (d CgroupDrivers) Others() (handlers []string) {
	for handler, driver := range d.ByHandler {
		if driver != d.Default {
			handlers = append(handlers, handler)
		}
	}
	slices.Sort(handlers)
	return handlers
}

// CgroupDrivers asks which drivers the runtime uses. containerd before 2.0 shows them in its
// verbose status only; a later one names that of its default handler, and handlers may
// differ.
func (c *Client) CgroupDrivers(ctx context.Context) (CgroupDrivers, error) {
	r, err := c.runtime.RuntimeConfig(ctx, &runtimeapi.RuntimeConfigRequest{})
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return CgroupDrivers{}, err
	}
	config, shownErr := c.RuntimeConfig(ctx)
	d := config.cgroupDrivers()
	if r.GetLinux() != nil {
		d.Default, d.Named = strings.ToLower(r.GetLinux().GetCgroupDriver().String()), true
		return d, nil
	}
	return d, shownErr
}

// cgroupDrivers are those that a verbose status shows.
func (c RuntimeConfig) cgroupDrivers() CgroupDrivers {
	d := CgroupDrivers{ByHandler: map[string]string{}}
	if c.CRIO != nil {
		d.Default = c.CRIO.CgroupManagerName
	}
	for name, handler := range c.Containerd.Runtimes {
		var options struct{ SystemdCgroup *bool }
		if json.Unmarshal(handler.Options, &options) != nil {
			options.SystemdCgroup = nil
		}
		switch set := options.SystemdCgroup; {
		case set != nil && *set:
			d.ByHandler[name] = DriverSystemd
		case set != nil || strings.HasPrefix(handler.RuntimeType, "io.containerd.runc."):
			d.ByHandler[name] = DriverCgroupfs
		}
	}
	d.Default = cmp.Or(d.Default, d.ByHandler[c.Containerd.DefaultRuntimeName])
	return d
}
