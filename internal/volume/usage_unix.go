//go:build unix

package volume

import (
	"os"
	"syscall"
)

func blocksOf(info os.FileInfo) blocks {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return blocks{bytes: info.Size()}
	}
	//nolint:unconvert // their types differ between systems
	return blocks{device: uint64(st.Dev), inode: uint64(st.Ino), links: uint64(st.Nlink), bytes: int64(st.Blocks) * 512}
}
