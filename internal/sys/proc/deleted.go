package proc

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// BootID returns the first part of the id that the kernel gives each boot, "" if
// it is not known.
func (f FS) BootID() string {
	b, err := readBounded(filepath.Join(string(f), "sys/kernel/random/boot_id"), maxFile)
	if err != nil {
		return ""
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(b)), "-")
	return id
}

// LockHolders returns the PIDs of the visible processes that hold an exclusive
// flock, in ascending order; none on a system that has no /proc. More locks than are read
// are an error: every user can take a million, and hide the others by that.
func (f FS) LockHolders() ([]int, error) {
	path := filepath.Join(string(f), "locks")
	pids, err := lockHolders(func() ([]byte, error) { return readWhole(path, maxLocks) })
	if err != nil && runtime.GOOS == "linux" {
		return nil, fmt.Errorf("see which processes hold locks: %w", err)
	}
	return pids, nil
}

// lockHolders are the holders in what is read of /proc/locks, which is more than once
// where one read may have left some out: see lockReads.
func lockHolders(read func() ([]byte, error)) ([]int, error) {
	var pids []int
	for range lockReads {
		b, err := read()
		if err != nil {
			return nil, err
		}
		before := len(pids)
		for l := range flocks(b) {
			if l.mode == "WRITE" {
				pids = append(pids, l.pid)
			}
		}
		slices.Sort(pids)
		pids = slices.Compact(pids)
		if len(b) < lockPage || len(pids) == before {
			break
		}
	}
	return pids, nil
}

// OpenFile is a file that a process has open.
type OpenFile struct {
	// Path is where the process sees it, or where it was when it was deleted.
	Path string
	fd   string
}

// Read returns the content of the file, bounded.
func (f OpenFile) Read() ([]byte, error) { return readBounded(f.fd, maxFile) }

// DeletedFilesNamed returns the files that a process has open, that were deleted and whose
// names match; none if its descriptors must not be read.
func (f FS) DeletedFilesNamed(pid int, match func(name string) bool) []OpenFile {
	var files []OpenFile
	f.descriptors(pid, func(fd string, target []byte) {
		path, deleted := strings.CutSuffix(string(target), " (deleted)")
		if deleted && match(filepath.Base(path)) {
			files = append(files, OpenFile{Path: path, fd: fd})
		}
	})
	return files
}

// FilesNamed returns the files that a process has open, were not deleted and whose names
// match; none if its descriptors must not be read.
func (f FS) FilesNamed(pid int, match func(name string) bool) []OpenFile {
	var files []OpenFile
	f.descriptors(pid, func(fd string, target []byte) {
		path := string(target)
		if filepath.IsAbs(path) && match(filepath.Base(path)) {
			files = append(files, OpenFile{Path: path, fd: fd})
		}
	})
	return files
}
