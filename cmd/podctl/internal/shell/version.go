package shell

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// PodctlVersion is the version of podctl.
type PodctlVersion struct {
	Version    string `json:"version"`          // of the module
	Commit     string `json:"commit,omitempty"` // that it was built from, with -dirty if files had changed
	Kubernetes string `json:"kubernetes"`       // whose kubelet podctl follows
	Go         string `json:"go"`               // that it was built with
	Platform   string `json:"platform"`         // linux/amd64
}

// Detail is all of it but the version, as a line.
func (v PodctlVersion) Detail() string {
	text := fmt.Sprintf("kubelet of Kubernetes %s, %s, %s", v.Kubernetes, v.Go, v.Platform)
	if v.Commit == "" {
		return text
	}
	commit, dirty, _ := strings.Cut(v.Commit, "-")
	if dirty != "" {
		dirty = "-" + dirty
	}
	return "commit " + commit[:min(len(commit), 12)] + dirty + ", " + text
}

// kubernetesModule is the module whose kubelet podctl follows.
const kubernetesModule = "k8s.io/kubernetes"

// ThisVersion is the version of this program, as the go command stamped it.
func ThisVersion() PodctlVersion {
	v := PodctlVersion{Version: Version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value + v.Commit
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Commit += "-dirty"
		}
	}
	for _, m := range info.Deps {
		if m.Path == kubernetesModule {
			v.Kubernetes = cmp.Or(m.Version, v.Kubernetes)
		}
	}
	return v
}
