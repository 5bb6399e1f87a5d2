package podsync

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
)

// makeDirs makes the pod's directory and those of its containers; those of
// its volumes belong to Volumes (makePodDataDirs in
// pkg/kubelet/kubelet_pods.go).
func (s *Syncer) makeDirs(p *v1.Pod) error {
	return os.MkdirAll(s.opt.Node.Dir(p.UID), 0o750)
}

// writeHosts writes the file that becomes /etc/hosts in the pod's containers.
// A pod without an address has none.
func (s *Syncer) writeHosts(p *v1.Pod, ips []string) error {
	var ofNode []byte
	switch {
	case pod.IsHostNetwork(p):
		data, err := os.ReadFile("/etc/hosts")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write hosts file: %w", err)
		}
		ofNode = data
	case len(ips) == 0:
		return nil
	}
	data, err := render.Hosts(p, s.opt.Node, ips, ofNode)
	if err != nil {
		return err
	}
	path := s.opt.Node.HostsFile(p.UID)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write hosts file: %w", err)
	}
	return os.Chmod(path, 0o644) // whatever the umask
}

// makeTerminationLog makes an empty file for the container's last words. Each
// start has its own. "" where the container wants none.
func (s *Syncer) makeTerminationLog(p *v1.Pod, c *v1.Container) (path string, err error) {
	if c.TerminationMessagePath == "" {
		return "", nil
	}
	dir := s.opt.Node.ContainerDir(p.UID, c.Name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("make termination log: %w", err)
	}
	path = filepath.Join(dir, fmt.Sprintf("%08x", rand.Uint32()))
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		return "", fmt.Errorf("make termination log: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // whatever the umask
		return "", fmt.Errorf("make termination log: %w", err)
	}
	return path, nil
}

// attemptByLogs is one more than the highest attempt that left a log, 0
// without any: runtimes may forget containers over a reboot
// (calcRestartCountByLogDir in pkg/kubelet/kuberuntime).
func attemptByLogs(dir, container string) uint32 {
	entries, err := os.ReadDir(filepath.Join(dir, container))
	if err != nil {
		return 0
	}
	next := uint32(0)
	for _, e := range entries {
		number, rest, _ := strings.Cut(e.Name(), ".")
		if e.IsDir() || (rest != "log" && !strings.HasPrefix(rest, "log.")) {
			continue
		}
		if n, err := strconv.ParseUint(number, 10, 31); err == nil {
			next = max(next, uint32(n)+1)
		}
	}
	return next
}

// removeLog deletes a container's log and its rotations. A log that stays
// harms nobody.
func removeLog(path string) {
	rotated, _ := filepath.Glob(path + ".*")
	for _, name := range append(rotated, path) {
		_ = os.Remove(name)
	}
}
