package live

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
)

// SmallDisk kills the runtime, puts its data (images, snapshots, database) on a
// file system of that size ("64m"), and starts it again. It
// returns a directory on that file system. Only for private ones.
func (in *Instance) SmallDisk(t testing.TB, size string) string {
	t.Helper()
	in.Kill(t)
	root := filepath.Join(in.lib, "root")
	if in.isCRIO() {
		root = filepath.Join(in.lib, "storage")
	}
	for _, target := range mountsBelow([]string{root}) { // CRI-O's own directory of layers
		if out, err := exec.Command("umount", "--lazy", target).CombinedOutput(); err != nil {
			t.Fatalf("unmount %s: %v\n%s", target, err, out)
		}
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o711); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", root).CombinedOutput(); err != nil {
		t.Fatalf("mount %s: %v\n%s", root, err, out)
	}
	in.Start(t)
	return root
}

// StopShim waits until the runtime has a shim whose command line contains all of the words,
// and stops it with SIGSTOP. resume lets it go on.
func (in *Instance) StopShim(t testing.TB, words ...string) (resume func()) {
	t.Helper()
	stopped := 0
	eventually(t, fmt.Sprintf("a shim of %q starts", words), func() bool {
		for _, pid := range in.Shims() {
			line := strings.Join(arguments(pid), " ")
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) }) && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped = pid
			}
		}
		return stopped != 0
	})
	resume = func() { _ = syscall.Kill(stopped, syscall.SIGCONT) }
	t.Cleanup(resume)
	return resume
}

// Reboot does to a containerd and its pods what a reboot of the machine does:
// the daemon, the shims and all processes of pods die, mounts, cgroups and
// what is in /run are gone; what is on disk stays. Then the runtime is started
// again. Pods have to be below CgroupRoot. Only for private ones.
func (in *Instance) Reboot(t testing.TB) {
	t.Helper()
	in.Kill(t)
	eventually(t, "the shims and the processes of pods die", func() bool {
		all := in.processes()
		for _, pid := range all {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatalf("kill %d: %v", pid, err)
			}
		}
		return len(all) == 0
	})
	mounts := mountsBelow([]string{in.run})
	slices.Reverse(mounts)
	for _, target := range mounts {
		if out, err := exec.Command("umount", "--lazy", target).CombinedOutput(); err != nil {
			t.Fatalf("unmount %s: %v\n%s", target, err, out)
		}
	}
	groups := rootCgroups(in.CgroupRoot())
	slices.SortFunc(groups, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	for _, dir := range groups {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for _, dir := range glob(in.run+"/state", in.run+"/runc*", in.run+"/s") {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	in.Start(t)
}

// processes are the shims of this runtime and all that runs in its pods.
func (in *Instance) processes() []int { return append(in.Shims(), in.PodProcesses()...) }

// PodProcesses are the processes that run in pods below CgroupRoot.
func (in *Instance) PodProcesses() []int {
	seen := map[int]bool{} // once for each hierarchy
	for _, dir := range rootCgroups(in.CgroupRoot()) {
		data, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for word := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				seen[pid] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Freeze freezes the cgroup of a process until the test ends, and returns the file that
// thaws it, with what to write to it. It skips the test where there is no freezer.
func Freeze(t testing.TB, pid int) (file, thawed string) {
	t.Helper()
	cgroups, err := proc.Default.Cgroups(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cgroups {
		file, text := filepath.Join("/sys/fs/cgroup", c.Path, "cgroup.freeze"), "1"
		thawed := "0"
		if c.Has("freezer") {
			file, text, thawed = filepath.Join("/sys/fs/cgroup/freezer", c.Path, "freezer.state"), "FROZEN", "THAWED"
		} else if len(c.Controllers) > 0 {
			continue
		}
		if os.WriteFile(file, []byte(text), 0) == nil {
			t.Cleanup(func() { _ = os.WriteFile(file, []byte(thawed), 0) })
			return file, thawed
		}
	}
	t.Skip("no freezer: ", cgroups)
	return "", ""
}
