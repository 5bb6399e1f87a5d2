package proc

import (
	"os"
	"path/filepath"

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
