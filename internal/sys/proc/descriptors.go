package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const descriptorsAtOnce = 1024

// descriptors calls each with the path and the target of every open descriptor of a
// process; of none if they must not be read. A process can have thousands, and all
// processes are looked at for the clients of a socket: the targets are read relative to
// the open directory, unsorted, and not all at once: every user can open a million files.
// target is valid during the call only.
func (f FS) descriptors(pid int, each func(path string, target []byte)) {
	dir := f.path(pid, "fd")
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	at := int(d.Fd())
	target := make([]byte, unix.PathMax)
	for {
		names, err := d.Readdirnames(descriptorsAtOnce)
		for _, name := range names {
			if n, err := unix.Readlinkat(at, name, target); err == nil {
				each(dir+string(filepath.Separator)+name, target[:n])
			}
		}
		if err != nil {
			return // the end, mostly
		}
	}
}

// SocketDescriptors returns the descriptors of the sockets that a process has open, by
// inode; none if they must not be read.
func (f FS) SocketDescriptors(pid int) map[uint32]int {
	found := map[uint32]int{}
	f.descriptors(pid, func(path string, target []byte) {
		if inode, ok := socketInode(target); ok {
			if n, err := strconv.Atoi(filepath.Base(path)); err == nil {
				found[inode] = n
			}
		}
	})
	return found
}

// socketInode reads socket:[INODE].
func socketInode(target []byte) (uint32, bool) {
	number, isSocket := bytes.CutPrefix(target, []byte("socket:["))
	inode, err := strconv.ParseUint(string(bytes.TrimSuffix(number, []byte("]"))), 10, 32)
	return uint32(inode), isSocket && err == nil
}
