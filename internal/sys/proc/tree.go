package proc

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ByParent returns all visible processes by the PID of their parent. Those that
// exit during the call are left out.
func (f FS) ByParent() (map[int][]Process, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	for _, pid := range pids {
		if p, err := f.Read(pid); err == nil {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	return children, nil
}

// ticks is the unit of Process.Start per second: USER_HZ, 100 on every
// architecture that Go supports.
const ticks = 100

// Started returns when a process started, to a second.
func (f FS) Started(p Process) (time.Time, error) {
	b, err := readBounded(filepath.Join(string(f), "stat"), maxTable)
	if err != nil {
		return time.Time{}, err
	}
	for line := range strings.Lines(string(b)) {
		if boot, ok := strings.CutPrefix(line, "btime "); ok {
			seconds, err := strconv.ParseInt(strings.TrimSpace(boot), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("read boot time: %w", err)
			}
			return time.Unix(seconds, 0).Add(time.Duration(p.Start) * time.Second / ticks), nil
		}
	}
	return time.Time{}, fmt.Errorf("read boot time: no btime in %s/stat", f)
}

// Cgroup is the membership of a process in one cgroup hierarchy.
type Cgroup struct {
	// Controllers of a v1 hierarchy; nil for v2. A named hierarchy has
	// "name=NAME".
	Controllers []string
	Path        string // below the mount point of the hierarchy
}

// Has reports whether the hierarchy has a controller.
func (c Cgroup) Has(controller string) bool { return slices.Contains(c.Controllers, controller) }

// Cgroups returns the cgroups of a process, one per hierarchy.
func (f FS) Cgroups(pid int) ([]Cgroup, error) {
	b, err := f.read(pid, "cgroup", maxFile)
	if err != nil {
		return nil, err
	}
	var found []Cgroup
	for line := range strings.Lines(string(b)) {
		// 4:memory:/kubepods/…   0::/kubepods.slice/…
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		c := Cgroup{Path: parts[2]}
		if parts[1] != "" {
			c.Controllers = strings.Split(parts[1], ",")
		}
		found = append(found, c)
	}
	return found, nil
}
