//go:build unix

package volume

import (
	"os"
	"syscall"
)

func groupOf(info os.FileInfo) (gid int64, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int64(st.Gid), true
}
