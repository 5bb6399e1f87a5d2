package orphan

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/podctl/podctl/internal/sys/proc"
)

// mountTables returns the mount tables of all processes, each mount namespace
// once. It is an error if one cannot be read, also if that is not permitted: a
// directory may be in use there.
func mountTables(all proc.FS) ([]string, error) {
	pids, err := all.PIDs()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var tables []string
	for _, pid := range pids {
		namespace, err := all.Namespace(pid, "mnt")
		if err == nil && seen[namespace] {
			continue
		}
		// The table of a process with more capabilities can be read, its namespace
		// cannot.
		named := err == nil
		table, err := all.MountTable(pid)
		switch {
		case err == nil:
			seen[namespace] = named
			tables = append(tables, table)
		case !hasExited(all, pid, err):
			return nil, fmt.Errorf("read mount tables: %w", err)
		}
	}
	return tables, nil
}

// hasExited reports whether a mount table could not be read because the process
// has exited. One that is exiting is in no mount namespace any more (EINVAL), a
// moment before it is a zombie.
func hasExited(all proc.FS, pid int, err error) bool {
	if errors.Is(err, proc.ErrGone) || errors.Is(err, syscall.EINVAL) {
		return true
	}
	p, err := all.Read(pid)
	return errors.Is(err, proc.ErrGone) || err == nil && p.State.Ended()
}

// usedElsewhere reports whether a part of the pod's directory is mounted outside
// of it, as in a container.
func usedElsewhere(tables []string, uid string) bool {
	part := "/" + uid + "/"
	for _, table := range tables {
		for line := range strings.Lines(table) {
			// 36 35 98:0 /what /where rw,noatime …
			fields := strings.Fields(line)
			if len(fields) > 4 && strings.Contains(fields[3]+"/", part) && !strings.Contains(fields[4]+"/", part) {
				return true
			}
		}
	}
	return false
}
