package inside

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/podctl/podctl/internal/lab/conform"
)

// maxContent bounds the content of a file that is read.
const maxContent = 4 << 10

// Facts reads the facts of this process, and of the files at these paths.
func Facts(files []string) conform.Facts {
	f := conform.Facts{
		Args: os.Args, Env: map[string]string{}, UID: os.Getuid(), GID: os.Getgid(), TTY: term.IsTerminal(1),
		Status: map[string]string{}, Namespaces: map[string]string{}, Processes: map[int]string{}, Files: map[string]conform.File{},
		UIDMap: strings.Join(strings.Fields(text("/proc/self/uid_map")), " "),
	}
	f.Dir, _ = os.Getwd()
	f.Groups, _ = os.Getgroups()
	f.Hostname, _ = os.Hostname()
	f.OOM, _ = strconv.Atoi(text("/proc/self/oom_score_adj"))
	for _, e := range os.Environ() {
		name, value, _ := strings.Cut(e, "=")
		f.Env[name] = value
	}
	for line := range strings.Lines(text("/proc/self/status")) {
		name, value, _ := strings.Cut(line, ":")
		f.Status[name] = strings.TrimSpace(value)
	}
	for _, ns := range []string{"net", "pid", "ipc", "uts", "user", "mnt", "cgroup"} {
		f.Namespaces[ns], _ = os.Readlink("/proc/self/ns/" + ns)
	}
	comms, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range comms {
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			f.Processes[pid] = text(path)
		}
	}
	for line := range strings.Lines(text("/proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		if fields, types := strings.Fields(before), strings.Fields(after); len(fields) > 5 && len(types) > 0 {
			f.Mounts = append(f.Mounts, conform.Mount{Point: fields[4], Options: fields[5], Type: types[0]})
		}
	}
	for _, path := range files {
		f.Files[path] = file(path)
	}
	f.MemoryLimit, f.CPULimit, f.CPUShares = limits("/sys/fs/cgroup")
	return f
}

// text is a short file without the space around it, "" if it cannot be read.
func text(path string) string {
	b, _ := os.ReadFile(path)
	return string(bytes.TrimSpace(b))
}

func file(path string) conform.File {
	info, err := os.Stat(path)
	if err != nil {
		return conform.File{Err: err.Error()}
	}
	f := conform.File{Mode: info.Mode().String()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		f.UID, f.GID = int(st.Uid), int(st.Gid)
	}
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) == nil {
		f.ReadOnly, f.Size = fs.Flags&unix.ST_RDONLY != 0, int64(fs.Blocks)*fs.Bsize
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
