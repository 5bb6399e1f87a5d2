package inside

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Facts returns what this process sees of its container, and of the files at these paths.
func Facts(files []string) map[string]any {
	env, status, namespaces, mounts, read := map[string]string{}, map[string]string{}, map[string]string{}, map[string]any{}, map[string]file{}
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	for line := range strings.Lines(text("/proc/self/status")) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	for _, ns := range []string{"net", "pid", "ipc", "uts", "user", "mnt", "cgroup"} {
		namespaces[ns], _ = os.Readlink("/proc/self/ns/" + ns)
	}
	comms := map[int]string{}
	paths, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range paths {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			comms[pid] = text(path)
		}
	}
	processes := []string{} // by id
	for _, pid := range slices.Sorted(maps.Keys(comms)) {
		processes = append(processes, comms[pid])
	}
	for line := range strings.Lines(text("/proc/self/mountinfo")) { // the last one at a path counts
		before, after, _ := strings.Cut(line, " - ")
		if fields, types := strings.Fields(before), strings.Fields(after); len(fields) > 5 && len(types) > 0 {
			mounts[fields[4]] = map[string]any{"type": types[0], "options": strings.Split(fields[5], ",")}
		}
	}
	for _, path := range files {
		read[path] = readFile(path)
	}
	dir, _ := os.Getwd()
	groups, _ := os.Getgroups()
	hostname, _ := os.Hostname()
	score, _ := strconv.Atoi(text("/proc/self/oom_score_adj"))
	memory, cpus, shares := limits("/sys/fs/cgroup")
	return map[string]any{
		"args": os.Args, "env": env, "dir": dir, "uid": os.Getuid(), "gid": os.Getgid(), "groups": groups, "hostname": hostname,
		"tty": term.IsTerminal(1), "status": status, "namespaces": namespaces, "processes": processes, "mounts": mounts, "files": read,
		"uidMap": strings.Join(strings.Fields(text("/proc/self/uid_map")), " "), "oomScoreAdj": score,
		"capEff": bits(status["CapEff"]), "capBnd": bits(status["CapBnd"]), "capInh": bits(status["CapInh"]),
		"memoryLimit": memory, "cpuLimit": cpus, "cpuShares": shares, // of its cgroup, 0 without one; the weight of cgroup v1
	}
}

// bits returns the capabilities of a set in /proc/self/status.
func bits(set string) []int {
	all := []int{}
	n, _ := strconv.ParseUint(set, 16, 64)
	for bit := range 64 {
		if n&(1<<bit) != 0 {
			all = append(all, bit)
		}
	}
	return all
}

// file is a file, or why there is none.
type file struct {
	Mode    string   `json:"mode,omitempty"` // as ls prints it: -rw-r--r--
	UID     int      `json:"uid"`
	GID     int      `json:"gid"`
	Content string   `json:"content,omitempty"` // the first bytes of a regular file
	Entries []string `json:"entries"`           // of a directory
	Size    int64    `json:"size"`              // of the file system, in bytes
	Err     string   `json:"err,omitempty"`
}

// text is a short file without the space around it, "" if it cannot be read.
func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(bytes.TrimSpace(b))
}

func readFile(path string) file {
	info, err := os.Stat(path)
	if err != nil {
		return file{Err: err.Error()}
	}
	f := file{Mode: info.Mode().String(), Entries: []string{}}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.UID, f.GID = int(st.Uid), int(st.Gid)
	}
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) == nil {
		f.Size = int64(fs.Blocks) * fs.Bsize
	}
	switch {
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		if err != nil {
			f.Err = err.Error()
		}
		f.Content = string(content[:min(len(content), maxContent)])
	case info.IsDir():
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			f.Entries = append(f.Entries, e.Name())
		}
	}
	return f
}

// limits reads those of the cgroup that is mounted, of either version.
func limits(at string) (memory int64, cpus float64, shares int64) {
	number := func(names ...string) int64 {
		for _, name := range names {
			if n, err := strconv.ParseInt(text(filepath.Join(at, name)), 10, 64); err == nil {
				return n
			}
		}
		return 0
	}
	const noLimit = 1 << 60 // of cgroup v1
	if memory = number("memory.max", "memory/memory.limit_in_bytes"); memory > noLimit {
		memory = 0
	}
	quota, period := number("cpu/cpu.cfs_quota_us"), number("cpu/cpu.cfs_period_us")
	_, _ = fmt.Sscanf(text(filepath.Join(at, "cpu.max")), "%d %d", &quota, &period) // "max" has none
	if quota > 0 && period > 0 {
		cpus = float64(quota) / float64(period)
	}
	shares = number("cpu/cpu.shares")
	if weight := number("cpu.weight"); weight > 0 {
		shares = cmp.Or(shares, 2+(weight-1)*262142/9999)
	}
	return memory, cpus, shares
}
