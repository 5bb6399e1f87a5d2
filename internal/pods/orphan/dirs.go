package orphan

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners"
)

// listDirs lists the pod directories, with what their records and the names of
// log directories say of their pods.
func (f *Finder) listDirs() ([]Dir, error) {
	if f.SkipDirs {
		return nil, nil
	}
	volumes, names := volume.New(f.Root), f.dirs()
	found, err := volumes.PodDirs()
	if err != nil {
		return nil, err
	}
	var dirs []Dir
	mounts := poddir.Mounts()
	for _, name := range found {
		uid, ours := names.UID(name)
		d := Dir{UID: uid, Path: filepath.Join(volumes.PodsDir(), name)}
		if !ours {
			d.Keep = onAnotherRuntime
		}
		info, err := os.Lstat(d.Path)
		if err != nil {
			continue // removed
		}
		d.Changed = info.ModTime()
		if real, err := filepath.EvalSymlinks(d.Path); err == nil {
			d.Path = real
		}
		d.Mounts = mounts[d.Path]
		f.readRecord(&d)
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// onAnotherRuntime is why a directory is kept that another runtime's pod has.
const onAnotherRuntime = "its pod is on another runtime"

// dirs names the directories of the pods of this runtime.
func (f *Finder) dirs() *poddir.Dirs {
	return host.Paths{Root: f.Root, Locks: f.Locks}.Dirs()
}

// readRecord completes a directory from the pod's record in it.
func (f *Finder) readRecord(d *Dir) {
	rec := poddir.ReadOwner(d.Path)
	d.Namespace, d.Name = rec.Namespace, rec.Name
	if rec.Runtime == filepath.Base(f.Locks) {
		d.Instance = rec.Instance
	}
	switch {
	case rec.StayStopped:
		d.Keep = "its pod was stopped by podctl stop"
	case rec.Runtime != "" && d.Instance == "":
		d.Keep = onAnotherRuntime
	}
	if d.Name == "" {
		d.Namespace, d.Name = nameOfLogs(f.Logs, filepath.Base(d.Path))
	}
}

// nameOfLogs is the pod's name as its log directory has it, "" if there is none,
// or several.
func nameOfLogs(logs, dir string) (namespace, name string) {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return "", ""
	}
	for _, e := range entries {
		before, ok := strings.CutSuffix(e.Name(), "_"+dir)
		if !ok {
			continue
		}
		if name != "" {
			return "", ""
		}
		namespace, name, _ = strings.Cut(before, "_")
	}
	return namespace, name
}

// judgeDirs determines which directories are in use although this runtime has no
// pod of theirs: podctl processes of all runtimes may share one root, and a
// container of another runtime may have a part of it mounted.
func (f *Finder) judgeDirs(v *View, dirs []Dir) {
	v.Dirs = dirs
	held := uidsOf(v.Pods)
	open := func(d Dir) bool { return !held[d.UID] && d.Keep == "" }
	if !slices.ContainsFunc(dirs, open) {
		return
	}
	owned, err := v.Answers.OwnedPods()
	if err != nil {
		v.DirsUnknown = err.Error()
		return
	}
	if !f.OwnerIsGone && owners.Unseen(f.Client, f.Procs) != nil {
		v.DirsUnknown = "the mounts of containers are not visible: podctl runs in another PID namespace than the runtime"
		return
	}
	names := map[string]bool{}
	for _, d := range dirs {
		if open(d) {
			names[filepath.Base(d.Path)] = true
		}
	}
	mounted, err := dirsMountedOutside(f.Procs, names, maxMounts)
	if err != nil {
		v.DirsUnknown = err.Error()
		return
	}
	for i := range dirs {
		d := &dirs[i]
		switch {
		case !open(*d):
		case owned[d.UID] != "":
			d.Keep = owned[d.UID] + " has the pod"
		case mounted[filepath.Base(d.Path)]:
			d.Keep = "a part of it is mounted in a container"
		}
	}
}
