package cgroup

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Stat is what a cgroup uses, and what it may use. nil is unknown, or no limit.
type Stat struct {
	// CPU is the time that it has used since it was created.
	CPU *time.Duration
	// Periods are those in which its quota of CPU was enforced, Throttled those in
	// which it was used up.
	Periods, Throttled *uint64
	// CPULimit is its quota, in cores.
	CPULimit *float64
	// WorkingSet is the memory that cannot be reclaimed at once, in bytes, as the
	// kubelet reports it; MemoryLimit is the limit of all memory.
	WorkingSet, MemoryLimit *uint64
	// Swap is the memory that is swapped out, in bytes.
	Swap *uint64
	// PIDs are its processes and threads.
	PIDs, PIDLimit *uint64
}

// unlimited is the least memory.limit_in_bytes of v1 that is no limit: it is
// rounded down to pages.
const unlimited = 1 << 62

// Stat reads the cgroup of a path. What cannot be read is nil.
func (t *Tree) Stat(group string) Stat {
	var s Stat
	if t.unified {
		t.statUnified(group, &s)
	} else {
		t.statV1(group, &s)
	}
	s.CPULimit, s.MemoryLimit = t.Enforced(group)
	s.PIDs = t.number(group, "pids", "pids.current")
	s.PIDLimit = t.number(group, "pids", "pids.max")
	return s
}

func (t *Tree) statUnified(group string, s *Stat) {
	cpu := t.fields(group, "cpu", "cpu.stat")
	s.CPU = duration(cpu["usage_usec"], time.Microsecond)
	s.Periods, s.Throttled = cpu["nr_periods"], cpu["nr_throttled"]
	s.WorkingSet = without(t.number(group, "memory", "memory.current"), t.fields(group, "memory", "memory.stat")["inactive_file"])
	s.Swap = t.number(group, "memory", "memory.swap.current")
}

func (t *Tree) statV1(group string, s *Stat) {
	s.CPU = duration(t.number(group, "cpuacct", "cpuacct.usage"), time.Nanosecond)
	cpu := t.fields(group, "cpu", "cpu.stat")
	s.Periods, s.Throttled = cpu["nr_periods"], cpu["nr_throttled"]
	memory := t.fields(group, "memory", "memory.stat")
	s.WorkingSet = without(t.number(group, "memory", "memory.usage_in_bytes"), memory["total_inactive_file"])
	s.Swap = memory["total_swap"]
}

// Enforced returns the limits of a cgroup, in cores and in bytes; nil is none, or
// unknown.
func (t *Tree) Enforced(group string) (cpu *float64, memory *uint64) {
	if t.unified {
		quota, period, _ := strings.Cut(t.text(group, "cpu", "cpu.max"), " ")
		return cores(parse(quota), parse(period)), t.number(group, "memory", "memory.max")
	}
	if memory = t.number(group, "memory", "memory.limit_in_bytes"); memory != nil && *memory >= unlimited {
		memory = nil
	}
	return cores(t.number(group, "cpu", "cpu.cfs_quota_us"), t.number(group, "cpu", "cpu.cfs_period_us")), memory
}

// without returns what remains of an amount, at least 0.
func without(all, part *uint64) *uint64 {
	if all == nil || part == nil {
		return nil
	}
	rest := *all - min(*all, *part)
	return &rest
}

func duration(n *uint64, unit time.Duration) *time.Duration {
	if n == nil {
		return nil
	}
	d := time.Duration(*n) * unit
	return &d
}

func cores(quota, period *uint64) *float64 {
	if quota == nil || period == nil || *period == 0 {
		return nil
	}
	n := float64(*quota) / float64(*period)
	return &n
}

// Pressure is how a cgroup met its memory limit since it was created. nil is
// unknown.
type Pressure struct {
	// LimitHits is how often an allocation met the limit: memory.failcnt, or max
	// of memory.events.
	LimitHits *uint64
	// OOMKills are the processes that the kernel killed because it, or with v2 a
	// cgroup below it, was out of memory.
	OOMKills *uint64
	// Peak is the most memory that it ever used, in bytes.
	Peak *uint64
}

// Pressure reads the cgroup of a path.
func (t *Tree) Pressure(group string) Pressure {
	if t.unified {
		events := t.fields(group, "memory", "memory.events")
		return Pressure{events["max"], events["oom_kill"], t.number(group, "memory", "memory.peak")}
	}
	return Pressure{
		t.number(group, "memory", "memory.failcnt"), t.fields(group, "memory", "memory.oom_control")["oom_kill"],
		t.number(group, "memory", "memory.max_usage_in_bytes"),
	}
}

// Process returns the PID of a process in a cgroup or below it, 0 if none is
// visible.
func (t *Tree) Process(group string) int {
	found := 0
	dir := t.File(group, "memory", "")
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil
		}
		first, _, _ := strings.Cut(read(filepath.Join(path, "cgroup.procs")), "\n")
		if found, _ = strconv.Atoi(first); found > 0 {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// number returns the number in a file, nil if there is none: "max", -1.
func (t *Tree) number(group, controller, name string) *uint64 {
	return parse(t.text(group, controller, name))
}

// fields returns the lines "name number" of a file.
func (t *Tree) fields(group, controller, name string) map[string]*uint64 {
	found := map[string]*uint64{}
	for line := range strings.Lines(t.text(group, controller, name)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		found[key] = parse(value)
	}
	return found
}

func (t *Tree) text(group, controller, name string) string {
	return read(t.File(group, controller, name))
}

func read(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func parse(text string) *uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
