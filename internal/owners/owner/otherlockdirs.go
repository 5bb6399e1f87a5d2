package owner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/proc"
)

// OtherLockDirs returns the lock directories that living podctl processes have below other run
// directories, as they are seen from here: of a process with another --run-dir, or in a
// container. Processes that cannot be seen from here are left out, and those that use a
// runtime within themselves.
func (h LockHolders) OtherLockDirs(run string) []string {
	ours, _ := os.Stat(run)
	var dirs []string
	var known []os.FileInfo
	instances := func(pid int) []proc.OpenFile { return h.procs.FilesNamed(pid, isInstanceFile) }
	for pid, f := range h.openFiles(instances) {
		dir := filepath.Join(h.procs.Root(pid), filepath.Dir(f.Path))
		above, err := os.Stat(filepath.Dir(dir))
		if err != nil || os.SameFile(ours, above) {
			continue
		}
		at, err := os.Stat(dir)
		if err != nil || slices.ContainsFunc(known, func(k os.FileInfo) bool { return os.SameFile(k, at) }) {
			continue
		}
		text, err := f.Read()
		if err != nil || parseHolder(string(text)).Runtime.Endpoint == "" {
			continue
		}
		dirs, known = append(dirs, dir), append(known, at)
	}
	return dirs
}

func isInstanceFile(name string) bool {
	return strings.HasPrefix(name, instancePrefix) && strings.HasSuffix(name, suffix)
}

// mayOwnPods reports whether a process can be a podctl that runs pods. Every container
// and every user of the host may lock a file of any name, and would keep podctl from
// starting pods by that; podctl mounts volumes, so that root's has CAP_SYS_ADMIN in
// podctl's user namespace.
func mayOwnPods(all proc.FS, pid int) bool {
	if os.Geteuid() != 0 {
		return true // only processes of the same user can be read
	}
	p, err := all.Read(pid)
	if err != nil || !p.Capabilities.Has(proc.SysAdmin) {
		return false
	}
	theirs, err := all.Namespace(pid, "user")
	if err != nil {
		return false
	}
	ours, err := all.Namespace(os.Getpid(), "user")
	return err == nil && theirs == ours
}
