// Package cgrouptest writes trees of files as the kernel shows them below
// /sys/fs/cgroup: of both cgroup drivers, in both versions and in a hybrid layout, with the
// pods of podctl and of a kubelet, and with the containers of each runtime. It spells the
// names by itself, so that tests of package cgroup compare two spellings.
package cgrouptest

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Layout is how a host has its cgroups.
type Layout struct {
	// Systemd: the driver is systemd, else cgroupfs.
	Systemd bool
	// Version is v1, v2 or hybrid.
	Version string
	// Root is the name of the cgroup above all pods: the kubelet's is kubepods.
	Root string
	// Runtime is containerd or cri-o.
	Runtime string
}

// Roots are names of the cgroup above all pods: podctl's of a runtime, the kubelet's, and what
// users choose.
var Roots = []string{"podctl-8f73c1d20a4b", "kubepods", "pod00000000-0000-4000-8000-000000000000"}

// Layouts returns all.
func Layouts() (all []Layout) {
	for _, version := range []string{"v1", "v2", "hybrid"} {
		for _, systemd := range []bool{false, true} {
			for _, root := range Roots {
				for _, runtime := range []string{"containerd", "cri-o"} {
					all = append(all, Layout{systemd, version, root, runtime})
				}
			}
		}
	}
	return all
}

// String returns the layout as the name of a test.
func (l Layout) String() string {
	driver := "cgroupfs"
	if l.Systemd {
		driver = "systemd"
	}
	return strings.Join([]string{driver, l.Version, l.Root, l.Runtime}, " ")
}

// Pod is a pod with cgroups.
type Pod struct {
	UID string
	// Class is its parent below the root: besteffort, burstable, or "" of a guaranteed pod.
	Class string
	// Processes are the PIDs by id of the container or sandbox, with a cgroup each.
	Processes map[string][]int
}

// Group returns the path of the cgroup of a pod, from the hierarchy's root.
func (l Layout) Group(p Pod) string {
	names := slices.DeleteFunc([]string{l.Root, p.Class, "pod" + p.UID}, func(name string) bool { return name == "" })
	if !l.Systemd {
		return "/" + path.Join(names...)
	}
	group := "/"
	for i := range names {
		names[i] = strings.ReplaceAll(names[i], "-", "_")
		group = path.Join(group, strings.Join(names[:i+1], "-")+".slice")
	}
	return group
}

// Container returns the path of the cgroup of a container or sandbox of a pod.
func (l Layout) Container(p Pod, id string) string {
	prefix := map[string]string{"containerd": "cri-containerd-", "cri-o": "crio-"}[l.Runtime]
	switch {
	case l.Systemd:
		return path.Join(l.Group(p), prefix+id+".scope")
	case l.Runtime == "cri-o":
		return path.Join(l.Group(p), prefix+id)
	}
	return path.Join(l.Group(p), id)
}

// Proc returns the file cgroup in /proc/PID of a process in a cgroup.
func (l Layout) Proc(group string) (text string) {
	for i, h := range l.hierarchies() {
		if h == "" || h == "unified" {
			text += "0::" + group + "\n"
		} else {
			text += fmt.Sprintf("%d:%s:%s\n", i+1, h, group)
		}
	}
	return text
}

// Freeze freezes a cgroup that Write has written, and returns the file that asks for it.
func (l Layout) Freeze(t testing.TB, root, group string) string {
	t.Helper()
	file, files := "freezer/"+group+"/freezer.state", map[string]string{"freezer.state": "FROZEN\n", "freezer.self_freezing": "1\n"}
	dir := filepath.Join(root, "freezer", group)
	if l.Version == "v2" {
		file, dir = group+"/cgroup.freeze", filepath.Join(root, group)
		files = map[string]string{"cgroup.freeze": "1\n", "cgroup.events": "populated 1\nfrozen 1\n"}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return path.Clean(file)
}

// Numbers of each cgroup that Write writes.
const (
	Memory   = 4 << 20  // in use, in bytes
	Limit    = 64 << 20 // of memory, in bytes
	OOMKills = 2
	Stalled  = 1.5 // percent of the last 10 s: PSI, of v2
)

// hierarchies returns where hierarchies are mounted, below the root; cpu and cpuacct are links.
func (l Layout) hierarchies() []string {
	all := []string{"unified", "memory", "cpu,cpuacct", "freezer"}
	switch l.Version {
	case "v2":
		return []string{""}
	case "v1":
		return all[1:]
	}
	return all
}

// Dir returns a directory for a test's trees, which have thousands of files: in memory where
// the host has such a file system.
func Dir(t testing.TB) string {
	t.Helper()
	parent, err := os.MkdirTemp("/dev/shm", "cgrouptest")
	if err != nil {
		parent = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(parent) })
	dir := filepath.Join(parent, "cgroup")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Write writes the tree of a host with these pods below root: beside them the units of a
// host whose names begin as a pod's do, and CRI-O's monitors, whose PIDs are 1 higher than those
// of their containers.
func (l Layout) Write(t testing.TB, root string, pods ...Pod) {
	t.Helper()
	l.group(t, root, "/", []int{1})
	for i, unit := range []string{
		"/system.slice/podman-00000000-0000-4000-8000-000000000001.service",
		"/machine.slice/machine-libpod_pod_" + strings.Repeat("0d", 32) + ".slice/libpod-" + strings.Repeat("0e", 32) + ".scope",
		"/user.slice/user-1000.slice/pod00000000-0000-4000-8000-000000000002.slice",
	} {
		l.group(t, root, unit, []int{9000 + i})
	}
	for _, p := range pods {
		l.group(t, root, l.Group(p), nil)
		for _, id := range slices.Sorted(maps.Keys(p.Processes)) {
			pids := p.Processes[id]
			l.group(t, root, l.Container(p, id), pids)
			if l.Runtime == "cri-o" && len(pids) > 0 {
				l.group(t, root, strings.Replace(l.Container(p, id), "crio-", "crio-conmon-", 1), []int{pids[0] + 1})
			}
		}
	}
	if l.Version == "v2" {
		return
	}
	for _, name := range []string{"cpu", "cpuacct"} {
		if err := os.Symlink("cpu,cpuacct", filepath.Join(root, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// group writes one cgroup, and those above it that do not exist, without processes.
func (l Layout) group(t testing.TB, root, group string, pids []int) {
	t.Helper()
	if group != "/" {
		parent := path.Dir(group)
		if _, err := os.Stat(filepath.Join(root, l.hierarchies()[0], parent)); err != nil {
			l.group(t, root, parent, nil)
		}
	}
	procs := ""
	for _, pid := range pids {
		procs += fmt.Sprintln(pid)
	}
	for _, hierarchy := range l.hierarchies() {
		files := map[string]string{"cgroup.procs": procs}
		switch hierarchy {
		case "", "unified":
			files["cgroup.controllers"] = map[string]string{"": "cpuset cpu io memory hugetlb pids\n"}[hierarchy]
			files["cgroup.events"] = "populated 1\nfrozen 0\n"
		case "memory":
			files["memory.usage_in_bytes"], files["memory.limit_in_bytes"] = fmt.Sprintln(Memory), fmt.Sprintln(Limit)
			files["memory.stat"] = "total_inactive_file 0\n"
			files["memory.oom_control"] = fmt.Sprintf("oom_kill_disable 0\nunder_oom 0\noom_kill %d\n", OOMKills)
		}
		if hierarchy == "" {
			files["memory.current"], files["memory.max"] = fmt.Sprintln(Memory), fmt.Sprintln(Limit)
			files["memory.stat"] = "anon 1\ninactive_file 0\n"
			files["memory.events"] = fmt.Sprintf("low 0\nhigh 0\nmax 7\noom 2\noom_kill %d\noom_group_kill 1\n", OOMKills)
			files["memory.pressure"] = fmt.Sprintf("some avg10=%.2f avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", Stalled)
		}
		dir := filepath.Join(root, hierarchy, group)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
