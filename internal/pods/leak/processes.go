package leak

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/lazyregexp"
	"github.com/podctl/podctl/internal/sys/proc"
)

// containerID is an id in the arguments of a program.
var containerID = lazyregexp.New(`\b[0-9a-f]{64}\b`)

// readProcesses finds shims, programs that work on a container now, and other runtimes.
func (s *scan) readProcesses() {
	s.findOtherSockets()
	pids, err := s.host.Procs.PIDs()
	if err != nil {
		s.unread("%v", err)
		s.noteOtherRuntime("processes cannot be read")
		return
	}
	supervisors := s.supervisorsOf(s.Runtime.PID)
	for _, pid := range pids {
		args, err := s.host.Procs.Command(pid)
		if err != nil && !errors.Is(err, proc.ErrGone) {
			s.unread("%v", err)
			s.noteOtherRuntime("process %d cannot be read", pid)
		}
		if len(args) == 0 {
			continue
		}
		p, err := s.host.Procs.Read(pid)
		if err != nil && !errors.Is(err, proc.ErrGone) {
			s.noteOtherRuntime("process %d cannot be read", pid)
		}
		if err != nil || p.State.Ended() {
			continue
		}
		name := filepath.Base(args[0])
		switch {
		case strings.HasPrefix(name, "containerd-shim"):
			s.readShim(p, proc.Flags(args[1:]))
		case name == "conmon":
			s.readMonitor(p, proc.Flags(args[1:]))
		case proc.IsOCIRuntime(name):
			for _, id := range containerID().FindAllString(strings.Join(args, " "), -1) {
				s.trace(id, Trace{Busy: name + " (pid " + strconv.Itoa(pid) + ")"})
			}
		case pid != s.Runtime.PID && !slices.Contains(supervisors, pid) && (slices.Contains(runtimes, name) || slices.Contains(runtimes, p.Comm)):
			s.noteOtherRuntime("%s (pid %d)", p.Comm, pid)
		case p.Parent == s.Runtime.PID && p.Parent != 0:
			if env, err := s.host.Procs.Environ(pid, "CNI_CONTAINERID", "CNI_NETNS"); err == nil && env["CNI_CONTAINERID"] != "" {
				s.trace(env["CNI_CONTAINERID"], Trace{Busy: "CNI plugin " + name + " (pid " + strconv.Itoa(pid) + ")", NetworkNamespace: proc.ResolvedPath(env["CNI_NETNS"])})
			}
		}
	}
}

// readShim reads a shim of containerd, which may be that of another one.
func (s *scan) readShim(p proc.Process, flags map[string]string) {
	id := flags["id"]
	if !s.besideRuntime(p) || !s.sameSocket(flags["address"]) {
		s.noteForeign(id, p)
		return
	}
	if flags["namespace"] != "k8s.io" || id == "" {
		s.foreignShims[p.PID] = true // of another client: docker's
		return
	}
	s.shims[p.PID] = id
	if !s.listed[id] {
		s.add(s.process(Shim, id, p))
		s.trace(id, Trace{Runtime: "its shim serves " + s.Runtime.Socket})
	}
}

// noteForeign notes a shim of another runtime, or of a container's.
func (s *scan) noteForeign(id string, shim proc.Process) {
	s.noteOtherRuntime("%s (pid %d)", shim.Comm, shim.PID)
	s.foreignShims[shim.PID] = true
	s.trace(id, Trace{Foreign: true})
}

// readMonitor reads a conmon of CRI-O's, which may be that of another one, or of podman.
func (s *scan) readMonitor(p proc.Process, flags map[string]string) {
	id := flags["c"]
	if s.Runtime.ExitDir == "" || !s.besideRuntime(p) || filepath.Clean(flags["exit-dir"]) != filepath.Clean(s.Runtime.ExitDir) {
		s.noteForeign(id, p)
		return
	}
	s.shims[p.PID] = id
	dir := flags["b"]
	if filepath.IsAbs(dir) && filepath.Base(filepath.Dir(dir)) == id && filepath.Base(dir) == "userdata" {
		s.storage[filepath.Dir(filepath.Dir(dir))] = true
	}
	if id == "" || s.listed[id] {
		return
	}
	s.add(s.process(Shim, id, p))
	evidence := "its conmon reports to " + s.Runtime.ExitDir
	t := Trace{CRI: true, Runtime: evidence}
	// k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT
	if parts := strings.Split(flags["n"], "_"); len(parts) == 6 && parts[0] == "k8s" {
		t.Pod = pod.Identity{Namespace: parts[3], Name: parts[2], UID: types.UID(parts[4])}
	}
	s.trace(id, t)
	if !filepath.IsAbs(dir) {
		return
	}
	s.bundles[id] = bundle{dir, s.readBundle(id, dir, evidence)}
	// A sandbox has a bundle beside its containers, and may have no process.
	if sandbox := s.Traces[id].Sandbox; containerID().MatchString(sandbox) && !s.listed[sandbox] {
		dir := filepath.Join(filepath.Dir(filepath.Dir(dir)), sandbox, filepath.Base(dir))
		s.bundles[sandbox] = bundle{dir, s.readBundle(sandbox, dir, evidence)}
	}
}

// besideRuntime reports whether a process is beside the runtime's. One in a container has the name,
// the arguments and the files that it wants, and a runtime in a pod, a node in a container or a
// chroot has the same paths.
func (s *scan) besideRuntime(p proc.Process) bool {
	same, err := s.host.Procs.Beside(p, s.Runtime.PID)
	if err != nil && !errors.Is(err, proc.ErrGone) {
		s.unread("%v", err)
	}
	return same
}

// process is a process as a thing.
func (s *scan) process(kind Kind, id string, p proc.Process) Thing {
	t := Thing{Kind: kind, ID: id, PID: p.PID, Start: p.Start, Name: p.Comm}
	if since, err := s.host.Procs.Started(p); err == nil {
		t.Since = since
	}
	return t
}

// sameSocket reports whether a path leads to the runtime's socket.
func (s *scan) sameSocket(path string) bool {
	path = strings.TrimPrefix(path, "unix://")
	if path == s.Runtime.Socket {
		return true
	}
	one, err := os.Stat(s.path(path))
	if err != nil {
		return false
	}
	other, err := os.Stat(s.path(s.Runtime.Socket))
	return err == nil && os.SameFile(one, other)
}

// maxProcesses bounds the processes of one container that are looked at.
const maxProcesses = 4096

// readCgroups finds the cgroups of pods, of containers in them that are not listed, and the
// processes of these.
func (s *scan) readCgroups() {
	tree, err := cgroup.Scan(s.host.Cgroups)
	if err != nil {
		s.unread("%v", err)
		return
	}
	for _, path := range tree.Pods() {
		uid, ok := cgroup.PodUID(path)
		if !ok {
			continue // too short to be told from another name
		}
		// Those of listed containers are no things.
		if pids, err := tree.Processes(path, maxProcesses); err != nil {
			s.unread("%v", err)
			s.Occupants[path] = "its processes cannot be read"
		} else if len(pids) > 0 {
			s.Occupants[path] = "process " + strconv.Itoa(pids[0])
		}
		s.add(Thing{Kind: Cgroup, Pod: uid, Path: path, Since: modTime(tree.File(path, "memory", ""))})
	}
	containers := tree.Containers()
	for _, id := range slices.Sorted(maps.Keys(containers)) {
		if !s.listed[id] {
			s.readCgroup(tree, id, containers[id])
		}
	}
}

// readCgroup reads the cgroup of a container: one below that of a pod, or with a process of a
// shim of this runtime's.
func (s *scan) readCgroup(tree *cgroup.Tree, id, path string) {
	parent := filepath.Dir(path)
	uid, ofPod := cgroup.PodUID(parent)
	pids, err := tree.Processes(path, maxProcesses)
	if err != nil {
		s.unread("%v", err)
	}
	group := Thing{Kind: Cgroup, ID: id, Path: path, Since: modTime(tree.File(path, "memory", ""))}
	var t Trace
	if ofPod {
		t = Trace{CRI: true, CgroupParent: parent, Pod: pod.Identity{UID: uid}}
	}
	var processes []Thing
	for _, pid := range pids {
		p, err := s.host.Procs.Read(pid)
		if err != nil || p.State.Ended() {
			continue
		}
		thing := s.process(Process, id, p)
		thing.Path = path
		processes = append(processes, thing)
		if thing.Since.Before(group.Since) && !thing.Since.IsZero() { // the kernel may forget when a cgroup was made
			group.Since = thing.Since
		}
		t = t.merge(s.ancestry(id, parent, p)).merge(s.networkOf(pid))
	}
	if !ofPod && t.Runtime == "" && !s.Traces[id].CRI {
		return // docker's, for instance
	}
	s.Things = append(append(s.Things, processes...), group)
	s.trace(id, t)
}

// ancestry is what the ancestors of a container's process tell: this runtime's shim has it, or it is
// foreign, as below any shim or program that is not beside the runtime. An ancestor may be of the
// same pod: its pause process, where containers share a PID namespace.
func (s *scan) ancestry(id, podGroup string, p proc.Process) (t Trace) {
	for range maxAncestors {
		if p.Parent <= 1 {
			return Trace{} // its shim has exited
		}
		if shim, ours := s.shims[p.Parent]; ours {
			t.Runtime = "its shim serves " + s.Runtime.Socket
			if s.Runtime.StateDir == "" {
				t.Runtime = "its conmon reports to " + s.Runtime.ExitDir
			} else if shim != id {
				t.Sandbox = shim
			}
			return t
		}
		parent, err := s.host.Procs.Read(p.Parent)
		if errors.Is(err, proc.ErrGone) {
			return Trace{}
		}
		if err != nil || s.foreignShims[p.Parent] || !s.isBelow(p.Parent, podGroup) && !s.besideRuntime(parent) {
			return Trace{Foreign: true}
		}
		p = parent
	}
	return Trace{Foreign: true}
}

// isBelow reports whether a process is in a cgroup or below it.
func (s *scan) isBelow(pid int, group string) bool {
	groups, _ := s.host.Procs.Cgroups(pid) // one that cannot be read is not known to be
	return slices.ContainsFunc(groups, func(c proc.Cgroup) bool { return c.Path == group || strings.HasPrefix(c.Path, group+"/") })
}

// networkOf is the evidence of a process in a network namespace that is mounted in the runtime's own
// directory.
func (s *scan) networkOf(pid int) Trace {
	ns, err := s.host.Procs.Namespace(pid, "net")
	if host, hostErr := s.host.Procs.Namespace(s.Runtime.PID, "net"); err != nil || hostErr != nil || ns == host {
		return Trace{}
	}
	if slices.ContainsFunc(s.mounts, func(m *mountinfo.Info) bool {
		return m.FSType == "nsfs" && m.Root == ns && s.Runtime.ownsNamespace(m.Mountpoint)
	}) {
		return Trace{Runtime: "its network namespace is in " + s.Runtime.NamespaceDir}
	}
	return Trace{}
}

// modTime is when a file or directory was made, or last changed, zero if that is not known.
func modTime(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}
