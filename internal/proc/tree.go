package proc

import (
	"slices"
	"strings"
)

// Descendants returns the processes below pid, parents before children. It
// reads every process once; those that end meanwhile are left out.
func (f FS) Descendants(pid int) ([]Process, error) {
	pids, err := f.PIDs()
	if err != nil {
		return nil, err
	}
	children := map[int][]Process{}
	for _, id := range pids {
		if p, err := f.Read(id); err == nil {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	var found []Process
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, child := range children[queue[0]] {
			if !seen[child.PID] { // a PID may be reused between two reads
				seen[child.PID] = true
				found, queue = append(found, child), append(queue, child.PID)
			}
		}
	}
	return found, nil
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
