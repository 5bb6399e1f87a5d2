package owner

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// holderPID is the process that holds the lock at path, 0 where the kernel
// does not say.
func holderPID(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	inode := fmt.Sprintf(":%d", stat.Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF
		fields := strings.Fields(lines.Text())
		var pid int
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], inode) {
			continue
		}
		if n, _ := fmt.Sscan(fields[4], &pid); n == 1 && pid > 0 {
			return pid
		}
	}
	return 0
}
