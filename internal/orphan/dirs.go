package orphan

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/poddir"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/volume"
)

// liveAnswer is what a podctl process desires. Rejected pods are part of it: they
// reserve their names.
func liveAnswer(l inventory.Live) desired.Answer {
	a := desired.Answer{Source: l.Process.Name, Err: l.Err}
	for _, w := range l.Workers {
		if w.Desired {
			a.Pods = append(a.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, UID: w.UID}})
		}
	}
	return a
}

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
	rec := podrecord.ReadOwner(d.Path)
	d.Namespace, d.Name = rec.Namespace, rec.Name
	if rec.Runtime == filepath.Base(f.Locks) {
		d.Instance = rec.Instance
	}
	switch {
	case rec.Held:
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
func judgeDirs(ctx context.Context, v *View, owners inventory.Owners, dirs []Dir) {
	v.Dirs = dirs
	held := uidsOf(v.Pods)
	judge := false
	for _, d := range dirs {
		judge = judge || !held[d.UID] && d.Keep == ""
	}
	if !judge {
		return
	}
	shown, err := owners.All(ctx)
	if err != nil {
		v.DirsUnknown = err.Error()
		return
	}
	if v.OwnersUnseen != nil {
		v.DirsUnknown = "the mounts of containers are not visible: podctl runs in another PID namespace than the runtime"
		return
	}
	tables, err := mountTables(processes)
	if err != nil {
		v.DirsUnknown = err.Error()
		return
	}
	for i := range dirs {
		d := &dirs[i]
		switch {
		case held[d.UID] || d.Keep != "":
		case shown[d.UID] != "":
			d.Keep = shown[d.UID] + " has the pod"
		case usedElsewhere(tables, filepath.Base(d.Path)):
			d.Keep = "a part of it is mounted in a container"
		}
	}
}
