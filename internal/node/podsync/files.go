package podsync

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
)

// maxHosts bounds the node's own /etc/hosts, in bytes.
const maxHosts = 1 << 20

// writeHosts writes the file that becomes /etc/hosts in the pod's containers.
// A pod without an address has none.
func (s *Syncer) writeHosts(p *v1.Pod, ips []string) error {
	var ofNode []byte
	switch {
	case pod.IsHostNetwork(p):
		data, err := bounded.Read("/etc/hosts", maxHosts)
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
	_, err = s.opt.Volumes.WriteFile(p.UID, filepath.Base(s.opt.Node.HostsFile(p.UID)), data, 0o644)
	return err
}

// terminationLog creates the container's termination message file, a new one for each
// start, and returns its path. It returns "" if the container has no
// terminationMessagePath or if the file cannot be created: the container starts all the
// same. The files of attempts that the runtime has no more are removed.
func (s *Syncer) terminationLog(p *v1.Pod, c *v1.Container, st *pod.Status) string {
	if c.TerminationMessagePath == "" {
		return ""
	}
	kept := map[string]bool{}
	for _, attempt := range st.Containers {
		for _, m := range attempt.Mounts {
			kept[m.HostPath] = true
		}
	}
	if err := s.opt.Volumes.RemoveTerminationLogs(p.UID, c.Name, kept); err != nil {
		s.opt.Log.Warn("old termination messages stay", "container", c.Name, "uid", p.UID, "err", err)
	}
	path, err := s.opt.Volumes.TerminationLog(p.UID, c.Name)
	if err != nil {
		s.opt.Log.Warn("container runs without a termination message", "container", c.Name, "uid", p.UID, "err", err)
		return ""
	}
	return path
}

// attemptByLogs returns one more than the highest attempt that left a log, 0
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
