package live

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/testkit/testutil"
)

// Traces is all that pods of one runtime leave on a machine while they run:
// lines such as "mount /run/…", "shim …", "cgroup …", sorted.
type Traces []string

func (in *Instance) isCRIO() bool {
	return in.Kind == CRIO || in.Kind == CRIOEvents || in.Kind == KubeletCRIOKind
}

// CgroupRoot is the top-level cgroup in which a test's podctl has to put its
// pods (--cgroup-root), which distinguishes them from those of other tests on
// this machine: nothing of it may be left.
func (in *Instance) CgroupRoot() string { return "podctl-" + in.Name }

// Traces lists what the runtime's pods have on this machine now: what it
// lists itself if it answers, mounts (network namespaces are among them),
// shims, links of its bridge, address leases, state directories; CgroupRoot
// and the cgroups of pods that name no parent; and everything below the given
// directories, such as podctl's --root.
func (in *Instance) Traces(dirs ...string) Traces {
	var all Traces
	add := func(kind string, found []string) {
		for _, f := range found {
			all = append(all, kind+" "+f)
		}
	}
	add("mount", mountsBelow(append(dirs, in.run, in.lib)))
	add("shim", in.shims())
	add("link", glob("/sys/class/net/"+in.bridge()+"/brif/*"))
	add("lease", glob(in.lib+"/cni/*/10.*"))
	add("attachment", glob("/var/lib/cni/results/podctl-"+in.Name+"-*"))
	add("state", slices.DeleteFunc(glob(in.run+"/state/io.containerd.runtime.v2.task/k8s.io/*", in.run+"/runc*/k8s.io/*",
		in.lib+"/root/io.containerd.grpc.v1.cri/*/*", in.run+"/storage/*-containers/*"), isHalfRemoved))
	add("cgroup", rootCgroups(in.CgroupRoot()))
	add("cgroup", slices.DeleteFunc(podCgroups(), in.isOthers))
	for _, dir := range dirs {
		add("file", below(dir))
	}
	if listed, err := bare.List(in.Endpoint); err == nil {
		add("listed", listed)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// isHalfRemoved reports whether a containerd has renamed a task's directory in order
// to remove it. One that is killed in between leaves it for ever.
func isHalfRemoved(dir string) bool { return strings.HasPrefix(filepath.Base(dir), ".") }

// Leftovers records the current traces and fails the test if there are more when
// it ends; it waits a moment for them to go, because a runtime cleans up after it
// has answered. Call it first in a test that runs alone on its runtime, so that it
// looks last.
func (in *Instance) Leftovers(t testing.TB, dirs ...string) {
	t.Helper()
	before := in.Traces(dirs...)
	t.Cleanup(func() {
		for _, left := range in.NewSince(t, before, dirs...) {
			t.Errorf("left over: %s", left)
		}
	})
}

// NewSince returns the traces that were not there before; it waits up to Timeout for
// there to be none: a runtime that has just stopped many pods cleans up for some time.
// Directories that the runtime has forgotten are logged instead of returned.
func (in *Instance) NewSince(t testing.TB, before Traces, dirs ...string) Traces {
	t.Helper()
	known := map[string]bool{}
	for _, b := range before {
		known[b] = true
	}
	began := time.Now()
	for {
		left := slices.DeleteFunc(in.Traces(dirs...), func(s string) bool { return known[s] })
		if len(left) == 0 {
			return nil
		}
		if time.Since(began) > Timeout {
			if !in.hasForgotten(left) {
				return left
			}
			t.Logf("containerd has forgotten directories of tasks, as at a high load: %q", left)
			return nil
		}
		time.Sleep(testutil.Interval(time.Since(began)))
	}
}

// maxForgotten is how many directories of tasks a containerd may forget in one test.
const maxForgotten = 2

// hasForgotten reports whether all that is left are a few directories in which containerd
// keeps the files of a task, without the task: the runtime answers and lists nothing of
// these ids, and no process names them. The other traces would tell of mounts, cgroups and shims.
// At a high load the clean-up of a task exceeds a time limit of containerd's own, and is not
// repeated. No caller of the CRI makes, sees or removes these directories.
func (in *Instance) hasForgotten(left Traces) bool {
	if len(left) > maxForgotten {
		return false
	}
	listed, err := bare.List(in.Endpoint)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(left, func(trace string) bool {
		id, ok := strings.CutPrefix(trace, "state "+in.run+"/state/io.containerd.runtime.v2.task/k8s.io/")
		return !ok || slices.Contains(listed, "sandbox "+id) || slices.Contains(listed, "container "+id) || isNamedByProcess(id)
	})
}

// isNamedByProcess reports whether a process has the id among its arguments, as a shim, an
// OCI runtime and a hook do.
func isNamedByProcess(id string) bool {
	return slices.ContainsFunc(glob("/proc/[0-9]*"), func(dir string) bool {
		pid, err := strconv.Atoi(filepath.Base(dir))
		return err == nil && strings.Contains(strings.Join(arguments(pid), " "), id)
	})
}

func (in *Instance) bridge() string { return in.fact("bridge") }

// subnet is the first three bytes of the pods' addresses.
func (in *Instance) subnet() string { return in.fact("subnet") }

// fact reads what hack/runtime notes about the runtime.
func (in *Instance) fact(name string) string {
	data, _ := os.ReadFile(filepath.Join(in.run, name))
	return strings.TrimSpace(string(data))
}

// Shims are the processes that serve this runtime's containers.
func (in *Instance) Shims() []int {
	var pids []int
	for _, shim := range in.shims() {
		word, _, _ := strings.Cut(shim, " ")
		if pid, err := strconv.Atoi(word); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// NetworkNamespaces are the files on which the pods' network namespaces are
// mounted.
func (in *Instance) NetworkNamespaces() []string {
	return slices.DeleteFunc(mountsBelow([]string{in.run}), func(target string) bool {
		return !strings.Contains(target, "/netns/") && !strings.Contains(target, "/ns/")
	})
}

// shims finds the processes that serve this runtime's containers by the paths
// of the runtime among their arguments.
func (in *Instance) shims() []string {
	var found []string
	for _, dir := range glob("/proc/[0-9]*") {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		args := arguments(pid)
		if len(args) == 0 || !isShim(filepath.Base(args[0])) {
			continue
		}
		if strings.Contains(strings.Join(args, " "), in.run+"/") {
			found = append(found, strconv.Itoa(pid)+" "+filepath.Base(args[0]))
		}
	}
	return found
}

func isShim(program string) bool {
	return strings.HasPrefix(program, "containerd-shim") || program == "runc" || program == "crun" || program == "conmon"
}

// arguments returns a process's command line; none if it is gone or a zombie.
func arguments(pid int) []string {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}

// ended reports whether a process has ended and closed its files: nothing is left of it
// but a zombie. Its command line goes before that.
func ended(pid int) bool {
	threads, _ := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	p, err := proc.Default.Read(pid)
	return errors.Is(err, proc.ErrGone) || err == nil && p.State.Ended() && len(threads) <= 1
}

func mountsBelow(dirs []string) []string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	var found []string
	for line := range bytes.Lines(data) {
		target := string(bytes.Fields(line)[4])
		if slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(target, dir+"/") }) {
			found = append(found, target)
		}
	}
	return found
}

// rootCgroups lists a root and all below it, on every hierarchy, in the
// spelling of either driver.
func rootCgroups(root string) []string {
	var found []string
	slice := strings.ReplaceAll(root, "-", "_") + ".slice"
	for _, top := range glob("/sys/fs/cgroup/"+root, "/sys/fs/cgroup/*/"+root, "/sys/fs/cgroup/"+slice, "/sys/fs/cgroup/*/"+slice) {
		for _, path := range append(below(top), top) {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				found = append(found, path)
			}
		}
	}
	return found
}

// podCgroups lists the cgroups, on every hierarchy, below those in which all runtimes of this
// machine put the sandboxes that name no parent, and below the slice of package bare.
func podCgroups() []string {
	found := map[string]bool{}
	for _, top := range glob("/sys/fs/cgroup/k8s.io*", "/sys/fs/cgroup/crio*", "/sys/fs/cgroup/*/k8s.io*", "/sys/fs/cgroup/*/crio*") {
		for _, dir := range below(top) {
			info, err := os.Stat(dir)
			if err == nil && info.IsDir() && dir != top {
				found[dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// isOthers reports whether a cgroup is that of a container which another private
// runtime has, or had when the cgroup was listed: it is gone then, because a runtime
// removes a container's cgroup before its directory.
func (in *Instance) isOthers(cgroup string) bool {
	id := strings.TrimSuffix(filepath.Base(cgroup), ".scope")
	id = id[strings.LastIndex(id, "-")+1:] // crio-ID, crio-conmon-ID, cri-containerd-ID
	if slices.ContainsFunc(glob(runBase+"/*/state/*/k8s.io/"+id, runBase+"/*/storage/*-containers/"+id), func(state string) bool {
		return !strings.HasPrefix(state, in.run+"/")
	}) {
		return true
	}
	_, err := os.Stat(cgroup)
	return errors.Is(err, fs.ErrNotExist)
}

func below(dir string) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != dir {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func glob(patterns ...string) []string {
	var found []string
	for _, p := range patterns {
		matches, _ := filepath.Glob(p)
		found = append(found, matches...)
	}
	return found
}
