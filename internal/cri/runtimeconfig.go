package cri

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// cdiSince are the first releases that apply the devices of a container's config;
// runtimes that are not listed are taken to do so.
var cdiSince = map[string][2]int{"containerd": {1, 7}, "cri-o": {1, 28}}

// CDI is whether and how a runtime gives containers devices of CDI specifications.
type CDI struct {
	// Refused is why it does not, "" if it does.
	Refused string
	// Directories are those of its specifications, nil where it does not name them.
	Directories []string
}

// CDI asks the runtime. containerd 1.x ignores devices unless its configuration says
// enable_cdi, and says nothing.
func (c *Client) CDI(ctx context.Context) (CDI, error) {
	v, err := c.Version(ctx)
	if err != nil {
		return CDI{}, err
	}
	config, err := c.RuntimeConfig(ctx)
	if err != nil {
		return CDI{}, err
	}
	return readCDI(v, config), nil
}

// readCDI reads it of the configuration that the runtime shows, which may be none.
func readCDI(v Version, config RuntimeConfig) CDI {
	found := CDI{Directories: config.CDISpecDirs}
	if found.Directories == nil && config.CRIO != nil {
		found.Directories = config.CRIO.CDISpecDirs
	}
	major, _, _ := v.release()
	enabled := v.Name != "containerd" || major != 1
	if config.EnableCDI != nil {
		enabled = *config.EnableCDI
	}
	switch {
	case !v.since(cdiSince) || v.Name == "containerd" && isEarly17(v.Version):
		found.Refused = fmt.Sprintf("%s cannot give devices to containers", v)
	case !enabled:
		found.Refused = fmt.Sprintf("CDI is disabled in the configuration of %s", v)
	}
	return found
}

// isEarly17 reports whether a version is 1.7.0 or 1.7.1, which know annotations only.
func isEarly17(version string) bool {
	return slices.Contains([]string{"1.7.0", "1.7.1"}, strings.TrimPrefix(version, "v"))
}
