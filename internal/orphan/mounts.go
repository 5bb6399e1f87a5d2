package orphan

import (
	"strings"

	"github.com/podctl/podctl/internal/proc"
)

// processes are those of this host.
const processes = proc.Default

// mountTables returns the mount tables of all processes, each mount namespace
// once.
func mountTables(all proc.FS) []string {
	pids, err := all.PIDs()
	if err != nil {
		return nil
	}
	seen := map[string]bool{}
	var tables []string
	for _, pid := range pids {
		namespace, err := all.Namespace(pid, "mnt")
		if err != nil || seen[namespace] {
			continue
		}
		table, err := all.MountTable(pid)
		if err != nil {
			continue // it has exited
		}
		seen[namespace] = true
		tables = append(tables, table)
	}
	return tables
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
