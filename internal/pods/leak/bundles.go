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
}

// readBundles reads what containerd's own directories tell of ids that are not listed.
func (s *scan) readBundles() {
	if s.Runtime.StateDir == "" {
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

// readBundle reads the OCI configuration of a container, and returns the path of its root file
// system, "" if that is not known.
func (s *scan) readBundle(id, dir, evidence string) (root string) {
	text, err := bounded.ReadNoFollow(filepath.Join(s.path(dir), "config.json"), maxSpec)
	var c spec
	if err != nil || json.Unmarshal(text, &c) != nil {
		return ""
	}
	sandbox := cmp.Or(c.Annotations["io.kubernetes.cri.sandbox-id"], c.Annotations["io.kubernetes.cri-o.SandboxID"])
	if sandbox == "" {
		return c.Root.Path // of another client in this namespace of containerd
	}
	t := Trace{CRI: true, Runtime: evidence, Pod: pod.OCIIdentity(c.Annotations)}
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
		s.add(Thing{Kind: Mount, ID: id, Path: m.Mountpoint, Since: s.mounted(id, m.Mountpoint)})
	}
}

// mounted is when a mount of a container was made, about: a mount itself has no time. It is that
// of its parent directory, or of a process of the container, which may be older.
func (s *scan) mounted(id, path string) time.Time {
	since := made(s.path(filepath.Dir(path)))
	for _, t := range s.Things {
		if t.ID == id && t.PID != 0 && t.Since.Before(since) && !t.Since.IsZero() {
			since = t.Since
		}
	}
	return since
}
