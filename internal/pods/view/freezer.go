package view

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Files of the freezer: cgroup v1, and v2.
const (
	FreezerState = "freezer.state"
	cgroupFreeze = "cgroup.freeze"
)

// FrozenBy returns the file of the cgroup that freezes a process, "" if none does; root is
// where cgroups are mounted.
func FrozenBy(fs proc.FS, root string, pid int) string {
	return cgroupsOf(fs, root, pid).frozenBy()
}

// cgroupsOf returns the cgroups of a process that are below root: not those out of sight of
// podctl's cgroup namespace, to which .. leads, nor what a recording names outside of its own.
func cgroupsOf(fs proc.FS, root string, pid int) cgroups {
	of, _ := fs.Cgroups(pid) // none of a process that has ended
	return cgroups{root, slices.DeleteFunc(of, func(c proc.Cgroup) bool {
		return !filepath.IsLocal("./"+hierarchy(c)) || !filepath.IsLocal("./"+c.Path)
	})}
}

// hierarchy returns where a hierarchy of v1 is mounted, below the root.
func hierarchy(c proc.Cgroup) string {
	return strings.TrimPrefix(strings.Join(c.Controllers, ","), "name=")
}

// cgroups are the cgroups of one process, as directories.
type cgroups struct {
	// root is where cgroups are mounted: /sys/fs/cgroup.
	root string
	of   []proc.Cgroup
}

// dir returns the directory of a hierarchy, which for a hybrid layout of v2
// can be one of two.
func (g cgroups) dir(c proc.Cgroup) string {
	if len(c.Controllers) > 0 {
		return filepath.Join(g.root, hierarchy(c), c.Path)
	}
	if hybrid := filepath.Join(g.root, "unified"); isDir(hybrid) {
		return filepath.Join(hybrid, c.Path)
	}
	return filepath.Join(g.root, c.Path)
}

// mount returns the top directory of the hierarchy of dir.
func (g cgroups) mount(c proc.Cgroup) string {
	c.Path = ""
	return g.dir(c)
}

// frozenBy returns the file of the cgroup that freezes the process, by its path on the node: its
// own or the nearest above that asks for it; "" if it is not frozen.
func (g cgroups) frozenBy() string {
	if file := g.freezer(); file != "" {
		return filepath.Join(cgroup.Mounts, strings.TrimPrefix(file, g.root))
	}
	return ""
}

func (g cgroups) freezer() string {
	for _, c := range g.of {
		switch {
		case c.Has("freezer"):
			if file := g.climb(c, FreezerState, func(dir string) bool {
				return read(dir, "freezer.self_freezing") == "1"
			}); file != "" {
				return file
			}
		case len(c.Controllers) == 0:
			if file := g.climb(c, cgroupFreeze, func(dir string) bool {
				return read(dir, cgroupFreeze) == "1"
			}); file != "" {
				return file
			}
		}
	}
	return ""
}

// isFrozen reports whether a cgroup of v1's freezer or of v2 is frozen. On v1 one with a process that
// waits in the kernel stays FREEZING.
func isFrozen(dir string) bool {
	if state := read(dir, FreezerState); state != "" {
		return state == "FROZEN" || state == "FREEZING"
	}
	return strings.Contains(read(dir, "cgroup.events"), "frozen 1")
}

// climb returns the control file of the nearest cgroup that asks to freeze, if
// the process's own cgroup is frozen.
func (g cgroups) climb(c proc.Cgroup, file string, asks func(dir string) bool) string {
	dir, top := g.dir(c), g.mount(c)
	if !isFrozen(dir) {
		return ""
	}
	for at := dir; at != top && strings.HasPrefix(at, top); at = filepath.Dir(at) {
		if asks(at) {
			return filepath.Join(at, file)
		}
	}
	return filepath.Join(dir, file)
}

// processes returns the processes of the cgroup.
func (g cgroups) processes() []int {
	for _, c := range g.of {
		if len(c.Controllers) > 0 && !c.Has("pids") {
			continue
		}
		var pids []int
		for id := range strings.FieldsSeq(read(g.dir(c), "cgroup.procs")) {
			if n, err := strconv.Atoi(id); err == nil && n > 0 {
				pids = append(pids, n)
			}
		}
		if len(pids) > 0 {
			return pids
		}
	}
	return nil
}

func read(dir, name string) string {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
