package cri

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

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
