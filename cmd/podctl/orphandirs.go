package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/volume"
)

// workersAnswer is what a podctl desires, rejected pods among it: they still
// want their names.
func workersAnswer(l liveWorkers) desired.Answer {
	a := desired.Answer{Source: l.client.Instance(), Err: l.err}
	for _, w := range l.workers {
		if w.Desired {
			a.Pods = append(a.Pods, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, UID: w.UID}})
		}
	}
	return a
}

// listDirs lists the pod directories, and what their records and the names of
// log directories tell of their pods. A simulated runtime has those that it was
// given alone.
func (f *orphanFinder) listDirs() ([]podDir, error) {
	if f.client.Endpoint().Runtime == cri.SimEndpoint && f.opts.root == "" {
		return nil, nil
	}
	volumes := volume.New(f.paths.Root)
	uids, err := volumes.PodDirs()
	if err != nil {
		return nil, err
	}
	var dirs []podDir
	for _, uid := range uids {
		d := podDir{uid: uid, path: volumes.Dir(uid)}
		info, err := os.Lstat(d.path)
		if err != nil {
			continue // gone
		}
		d.changed = info.ModTime()
		if real, err := filepath.EvalSymlinks(d.path); err == nil {
			d.path = real
		}
		if mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(d.path)); err == nil {
			for _, m := range mounts {
				d.mounts = append(d.mounts, m.Mountpoint)
			}
		}
		rec := podrecord.ReadOwner(d.path)
		d.namespace, d.name = rec.Namespace, rec.Name
		if rec.Runtime == filepath.Base(f.paths.Locks) {
			d.instance = rec.Instance
		}
		switch {
		case rec.Held:
			d.keep = "podctl stop ended its pod, to stay so"
		case rec.Runtime != "" && d.instance == "":
			d.keep = "it is of another runtime"
		}
		if d.name == "" {
			d.namespace, d.name = nameOfLogs(f.paths.Logs, uid)
		}
		dirs = append(dirs, d)
	}
	return dirs, nil
}

// nameOfLogs is the name of the pod as its log directory has it, "" if there is
// none, or several.
func nameOfLogs(logs string, uid types.UID) (namespace, name string) {
	entries, err := os.ReadDir(logs)
	if err != nil {
		return "", ""
	}
	for _, e := range entries {
		before, ok := strings.CutSuffix(e.Name(), "_"+string(uid))
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

// judgeDirs finds out which directories are in use though this runtime holds no
// pod of theirs: podctls of all runtimes may share one root, and a container of
// another one may have a part of it mounted.
func (f *orphanFinder) judgeDirs(ctx context.Context, v *orphanView, dirs []podDir) {
	v.dirs = dirs
	held := map[types.UID]bool{}
	for _, h := range v.held {
		held[h.uid] = true
	}
	judge := false
	for _, d := range dirs {
		judge = judge || !held[d.uid] && d.keep == ""
	}
	if !judge {
		return
	}
	shown, err := f.shownAnywhere(ctx)
	if err != nil {
		v.dirsUnknown = err.Error()
		return
	}
	tables := mountTables("/proc")
	for i := range dirs {
		d := &dirs[i]
		switch {
		case held[d.uid] || d.keep != "":
		case shown[d.uid] != "":
			d.keep = shown[d.uid] + " has the pod"
		case usedElsewhere(tables, string(d.uid)):
			d.keep = "a part of it is mounted in a container"
		}
	}
}

// shownAnywhere are the pods of all living podctls, on whatever runtime. One that
// does not answer may have any pod.
func (f *orphanFinder) shownAnywhere(ctx context.Context) (map[types.UID]string, error) {
	shown := map[types.UID]string{}
	runtimes, err := filepath.Glob(filepath.Join(filepath.Dir(f.paths.Locks), "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range runtimes {
		living, err := owner.Living(dir)
		if err != nil {
			return nil, err
		}
		clients, err := control.Find(dir, f.env.dial)
		if err != nil {
			return nil, err
		}
		silent := map[string]bool{}
		for _, name := range living {
			// stop and orphans make no directories.
			silent[name] = !strings.HasPrefix(name, "stop-") && !strings.HasPrefix(name, orphansInstance+"-")
		}
		for _, l := range askWorkers(ctx, clients) {
			if l.err != nil {
				return nil, l.err
			}
			delete(silent, l.client.Instance())
			for _, w := range l.workers {
				shown[w.UID] = l.client.Instance()
			}
		}
		maps.DeleteFunc(silent, func(_ string, is bool) bool { return !is })
		for name := range silent {
			return nil, fmt.Errorf("podctl %q lives and has no socket", name)
		}
	}
	return shown, nil
}

// mountTables are the mount tables of all processes, each once.
func mountTables(proc string) []string {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var tables []string
	for _, e := range entries {
		namespace, err := os.Readlink(filepath.Join(proc, e.Name(), "ns/mnt"))
		if err != nil || seen[namespace] {
			continue
		}
		table, err := os.ReadFile(filepath.Join(proc, e.Name(), "mountinfo"))
		if err != nil {
			continue // it has ended
		}
		seen[namespace] = true
		tables = append(tables, string(table))
	}
	return tables
}

// usedElsewhere tells whether a part of the pod's directory is mounted at some
// place outside of it, as containers have it.
func usedElsewhere(tables []string, uid string) bool {
	part := "/" + uid + "/"
	for _, table := range tables {
		for line := range strings.Lines(table) {
			// 36 35 98:0 /what /where rw,noatime …
			fields := strings.Fields(line)
			if len(fields) > 4 && strings.Contains(fields[3]+"/", part) && !strings.Contains(fields[4]+"/", part) {
				return true
			}
		}
	}
	return false
}
