package kubelet

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// commandLine is the part of a process by which a kubelet is recognized.
type commandLine struct {
	exe  string
	args []string
}

// programs are the programs that contain a kubelet, with the sub-commands that run it,
// nil if every invocation does.
var programs = map[string][]string{
	"kubelet":    nil,
	"kubelite":   nil, // microk8s
	"k3s":        {"server", "agent"},
	"k3s-server": nil,
	"k3s-agent":  nil,
	"rke2":       {"server", "agent"},
	"hyperkube":  {"kubelet"},
}

// isKubelet reports whether a process is a kubelet, by its executable and
// arguments. Another command of a program that contains one, such as `k3s
// crictl`, is not.
func isKubelet(p commandLine) bool {
	names := []string{filepath.Base(p.exe)}
	args := p.args
	if len(args) > 0 {
		// Some programs write their role into argv[0]: "/usr/bin/k3s server".
		args = append(strings.Fields(args[0]), args[1:]...)
	}
	if len(args) > 0 {
		names = append(names, filepath.Base(args[0]))
		args = args[1:]
	}
	for _, name := range names {
		roles, ok := programs[strings.TrimSuffix(name, " (deleted)")]
		if ok && (roles == nil || len(args) > 0 && slices.Contains(roles, args[0])) {
			return true
		}
	}
	return false
}

// besideError says that a kubelet is connected to the socket that podctl was to use.
func besideError(socket string, pid int, exe string) error {
	return hint.Errorf("stop the kubelet, use another runtime with -r, or pass --beside-kubelet",
		"a kubelet (%s, pid %d) is connected to %s: it would kill podctl's pods within seconds", filepath.Base(exe), pid, socket)
}
