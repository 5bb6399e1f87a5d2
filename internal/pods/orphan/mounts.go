package orphan

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"github.com/podctl/podctl/internal/sys/proc"
)

// maxMounts is how much of the mount tables of all processes is read, in bytes: ten times
// what a node with hundreds of containers has. A container can have a user namespace with
// thousands of mount namespaces, each with all mounts that the kernel allows.
const maxMounts = 128 << 20

// dirsMountedOutside returns which of the pod directories, by name, have a mount outside of
// themselves, as in a container. It reads the mount tables of all processes, each mount
// namespace once. It is an error if one cannot be read, also if that is not permitted, or
// if there are more than are read: a directory may be in use there.
func dirsMountedOutside(all proc.FS, dirs map[string]bool, limit int64) (map[string]bool, error) {
	pids, err := all.PIDs()
	if err != nil {
		return nil, err
	}
	seen, used := map[string]bool{}, map[string]bool{}
	for _, pid := range pids {
		namespace, err := all.Namespace(pid, "mnt")
		if err == nil && seen[namespace] {
			continue
		}
		// The table of a process with more capabilities can be read, its namespace
		// cannot.
		named := err == nil
		n, err := all.EachMount(pid, limit, func(line []byte) { markMountedOutside(line, dirs, used) })
		limit -= n
		switch {
		case err == nil:
			seen[namespace] = named
		case errors.Is(err, proc.ErrTooLarge):
			return nil, errors.New("the mount tables of all processes are larger than what podctl reads of them, so that a directory may be mounted unseen")
		case !hasExited(all, pid, err):
			return nil, fmt.Errorf("read mount tables: %w", err)
		}
	}
	return used, nil
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

// markMountedOutside adds to used each directory that, by a line of a mount table, is mounted outside
// of itself.
func markMountedOutside(line []byte, dirs, used map[string]bool) {
	// 36 35 98:0 /what /where rw,noatime …
	var fields [5][]byte
	n := 0
	for field := range bytes.FieldsSeq(line) {
		if fields[n] = field; n == len(fields)-1 {
			break
		}
		n++
	}
	what, where := fields[3], fields[4]
	for part := range bytes.SplitSeq(what, []byte("/")) {
		if !dirs[string(part)] {
			continue
		}
		inside := false
		for other := range bytes.SplitSeq(where, []byte("/")) {
			inside = inside || bytes.Equal(other, part)
		}
		if !inside && where != nil {
			used[string(part)] = true
		}
	}
}
