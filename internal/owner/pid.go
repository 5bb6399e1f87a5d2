package owner

import (
	"os"
	"syscall"

	"github.com/podctl/podctl/internal/proc"
)

// holderPID returns the process that holds the lock at path, 0 where the kernel
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
	return proc.Default.LockHolder(stat.Ino)
}
