package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// process is what of a process tells whether it is a kubelet.
type process struct {
	pid  int
	exe  string
	args []string
}

// kubelets are the programs that contain a kubelet, with the sub-commands
// that run it; no sub-command means that the program is one.
var kubelets = map[string][]string{
	"kubelet":    nil,
	"kubelite":   nil, // microk8s
	"k3s":        {"server", "agent"},
	"k3s-server": nil,
	"k3s-agent":  nil,
	"rke2":       {"server", "agent"},
	"hyperkube":  {"kubelet"},
}

// isKubelet tells by executable or arguments whether a process is a kubelet.
// A program that merely carries one, such as `k3s crictl`, is not.
func isKubelet(p process) bool {
	names := []string{filepath.Base(p.exe)}
	args := p.args
	if len(args) > 0 {
		// Some write their role into argv[0]: "/usr/bin/k3s server".
		args = append(strings.Fields(args[0]), args[1:]...)
	}
	if len(args) > 0 {
		names = append(names, filepath.Base(args[0]))
		args = args[1:]
	}
	for _, name := range names {
		roles, ok := kubelets[strings.TrimSuffix(name, " (deleted)")]
		if ok && (roles == nil || len(args) > 0 && slices.Contains(roles, args[0])) {
			return true
		}
	}
	return false
}

// BesideKubeletError says that a kubelet is connected to the socket that
// podctl was to use.
type BesideKubeletError struct {
	Socket string
	PID    int
	Exe    string
}

func (e *BesideKubeletError) Error() string {
	return fmt.Sprintf("a kubelet (%s, pid %d) is connected to %s: it would kill podctl's pods within seconds", filepath.Base(e.Exe), e.PID, e.Socket)
}

// Hint tells the ways out.
func (e *BesideKubeletError) Hint() string {
	return "stop the kubelet, use another runtime with -r, or insist with --beside-kubelet"
}
