package leak

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/proc"
)

const (
	// tasks is where containerd keeps the bundles of the CRI's containers, below its state
	// directory, and criDir what else it keeps of them.
	tasks  = "io.containerd.runtime.v2.task/k8s.io"
	criDir = "io.containerd.grpc.v1.cri"
	// maxBundles bounds how many are looked at in each directory, maxSpec the OCI
	// configuration of one in bytes.
	maxBundles = 16384
	maxSpec    = 1 << 20
)

// spec is the part of a container's OCI configuration that is read.
type spec struct {
	Annotations map[string]string `json:"annotations"`
	Root        struct {
		Path string `json:"path"`
	} `json:"root"`
	Linux struct {
		Namespaces []struct {
			Type string `json:"type"`
			Path string `json:"path"`
		} `json:"namespaces"`
	} `json:"linux"`
}

// netns is the path of the network namespace, "" if it has none.
func (c spec) netns() string {
	for _, ns := range c.Linux.Namespaces {
		if ns.Type == "network" {
			return proc.ResolvedPath(ns.Path)
		}
	}
	return ""
}

// readBundles reads what the runtime's own directories tell of ids that are not listed.
func (s *scan) readBundles() {
	if s.Runtime.StateDir == "" {
		s.readStorage()
		return
	}
	dir := filepath.Join(s.Runtime.StateDir, tasks)
	for _, id := range s.unlistedIn(dir) {
		s.readBundle(id, filepath.Join(dir, id), "its bundle is in "+dir)
	}
	for _, kind := range []string{"sandboxes", "containers"} {
		dir := filepath.Join(s.Runtime.StateDir, criDir, kind)
		for _, id := range s.unlistedIn(dir) {
			s.trace(id, Trace{CRI: true, Runtime: "it has a directory in " + dir})
		}
	}
}

// readStorage reads the bundles of CRI-O's containers without a monitor, beside those that have one:
// …/ID/userdata. They name the sandbox and its network namespace, and are no evidence that this
// runtime has it: podman may have the same directory.
func (s *scan) readStorage() {
	for dir := range s.storage {
		for _, id := range s.unlistedIn(dir) {
			if _, known := s.bundles[id]; known || containerID().FindString(id) != id {
				continue
			}
			b := bundle{dir: filepath.Join(dir, id, "userdata")} // its shm is mounted before it is written
			if c, ok := s.readSpec(b.dir); ok && c.Annotations["io.kubernetes.cri-o.Metadata"] != "" {
				b.root = s.readBundle(id, b.dir, "")
			}
			s.bundles[id] = b
		}
	}
}

// unlistedIn returns the entries of a directory of containers that the runtime did not list.
func (s *scan) unlistedIn(dir string) (ids []string) {
	names, whole, err := readNames(s.path(dir), maxBundles)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.cannotRead(dir, err)
	}
	if !whole {
		s.unread("%s has more than %d entries", dir, maxBundles)
	}
	for _, id := range names {
		if !s.listed[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// readSpec reads the OCI configuration in a bundle.
func (s *scan) readSpec(dir string) (c spec, ok bool) {
	text, err := bounded.ReadNoFollow(filepath.Join(s.path(dir), "config.json"), maxSpec)
	ok = err == nil && json.Unmarshal(text, &c) == nil
	return c, ok
}

// readBundle reads the OCI configuration of a container, and returns the path of its root file
// system, "" if that is not known.
func (s *scan) readBundle(id, dir, evidence string) (root string) {
	c, ok := s.readSpec(dir)
	if !ok {
		return ""
	}
	sandbox := cmp.Or(c.Annotations["io.kubernetes.cri.sandbox-id"], c.Annotations["io.kubernetes.cri-o.SandboxID"])
	if sandbox == "" {
		return c.Root.Path // of another client in this namespace of containerd
	}
	t := Trace{CRI: true, Runtime: evidence, Pod: pod.OCIIdentity(c.Annotations), NetworkNamespace: c.netns()}
	if sandbox != id {
		t.Sandbox = sandbox
	}
	s.trace(id, t)
	return c.Root.Path
}

// readMounts finds the mounts of containers: of containerd those in its state directory, of
// CRI-O those in the directories of containers with a monitor and of their sandboxes, and their
// root file systems.
func (s *scan) readMounts() {
	at := map[string]string{} // id by mount point
	for id, b := range s.bundles {
		at[filepath.Join(b.dir, "shm")] = id
		if b.root != "" {
			at[b.root] = id
		}
	}
	var taskDir, sandboxDir string
	if s.Runtime.StateDir != "" {
		taskDir, sandboxDir = filepath.Join(s.Runtime.StateDir, tasks), filepath.Join(s.Runtime.StateDir, criDir, "sandboxes")
	}
	for _, m := range s.mounts {
		id := at[m.Mountpoint]
		switch dir := filepath.Dir(m.Mountpoint); filepath.Dir(dir) {
		case ".", "/":
		case taskDir, sandboxDir:
			if base := filepath.Base(m.Mountpoint); base == "rootfs" || base == "shm" {
				id = filepath.Base(dir)
			}
		}
		if id == "" || s.listed[id] {
			continue
		}
		s.add(Thing{Kind: Mount, ID: id, Path: m.Mountpoint, Since: s.mountTime(id, m.Mountpoint)})
	}
}

// mountTime is when a mount of a container was made, about: a mount itself has no time. It is that
// of its parent directory, or of a process of the container, which may be older.
func (s *scan) mountTime(id, path string) time.Time {
	since := modTime(s.path(filepath.Dir(path)))
	for _, t := range s.Things {
		if t.ID == id && t.PID != 0 && t.Since.Before(since) && !t.Since.IsZero() {
			since = t.Since
		}
	}
	return since
}
