package flock

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLocks bounds what is read of /proc/locks, in bytes: every user can take locks.
const maxLocks = 1 << 20

// Holder returns the process that holds the lock on the file at path, 0 if that
// cannot be determined: it is in another PID namespace, or no process holds it.
func Holder(path string) int {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0
	}
	locks, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer locks.Close()
	return holderIn(io.LimitReader(locks, maxLocks), fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino))
}

// holderIn looks for the file, DEVICE:INODE, in the lines of /proc/locks:
//
//	7: FLOCK  ADVISORY  WRITE 4888 fe:00:5310774 0 EOF
//	7: -> FLOCK  ADVISORY  WRITE 6681 fe:00:5310774 0 EOF
//
// The second process waits for the first.
func holderIn(locks io.Reader, file string) int {
	lines := bufio.NewScanner(locks)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != file {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid
		}
	}
	return 0
}
