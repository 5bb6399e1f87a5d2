package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// FS is the directory where procfs is mounted. Tests use a directory of files.
type FS string

// Default is the host's procfs.
const Default FS = "/proc"

// ErrGone reports that no process has the PID.
var ErrGone = errors.New("no such process")

// ErrTooLarge reports that a file has more than is read, and no part of it may be missing.
var ErrTooLarge = errors.New("it is too large")

// Upper bounds of what is read from one file.
const (
	maxFile  = 64 << 10 // stat, status, cgroup, comm, wchan
	maxArgs  = 1 << 20  // cmdline
	maxTable = 16 << 20 // mountinfo
	maxLocks = 32 << 20 // half a million
)

// PIDs returns the PIDs of all visible processes in ascending order.
func (f FS) PIDs() ([]int, error) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Command returns the arguments of a process; none for a kernel thread and for
// a zombie.
func (f FS) Command(pid int) ([]string, error) {
	b, err := f.read(pid, "cmdline", maxArgs)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), nil
}

// Comm returns the name of a process, "" if it cannot be read.
func (f FS) Comm(pid int) string {
	b, _ := f.read(pid, "comm", maxFile)
	return strings.TrimSuffix(string(b), "\n")
}

// Exe returns the path of the program of a process, "" if it cannot be read.
func (f FS) Exe(pid int) string {
	target, _ := os.Readlink(f.path(pid, "exe"))
	return target
}

// WaitChannel returns the kernel function in which a process sleeps, "" if it
// does not sleep or the kernel does not show it.
func (f FS) WaitChannel(pid int) string {
	b, _ := f.read(pid, "wchan", maxFile)
	if string(b) == "0" {
		return ""
	}
	return string(b)
}

// Namespace returns the identity of a namespace of a process. Kinds are the
// names of /proc/PID/ns: pid, mnt, net, user …
func (f FS) Namespace(pid int, kind string) (string, error) {
	target, err := os.Readlink(f.path(pid, filepath.Join("ns", kind)))
	return target, f.explain(pid, err)
}

// SamePIDNamespace reports whether the process shares the PID namespace of
// podctl, so that a PID it reports can be looked up here.
func (f FS) SamePIDNamespace(pid int) (bool, error) {
	theirs, err := f.Namespace(pid, "pid")
	if err != nil {
		return false, err
	}
	ours, err := os.Readlink(filepath.Join(string(f), "self", "ns", "pid"))
	if err != nil {
		return false, fmt.Errorf("read own PID namespace: %w", err)
	}
	return theirs == ours, nil
}

// Beside reports whether a process is of the same user as another one, in the same mount, PID and
// user namespaces, and has the same root directory. Only then does what it says of itself, its name
// and its arguments, mean what it means of a program that the other one started: those of a
// container, of a node in one or of another user are their own choice.
func (f FS) Beside(p Process, other int) (bool, error) {
	o, err := f.Read(other)
	if err != nil || o.UID != p.UID {
		return false, err
	}
	for _, kind := range []string{"mnt", "pid", "user"} {
		ours, err := f.Namespace(p.PID, kind)
		if err != nil {
			return false, err
		}
		if theirs, err := f.Namespace(other, kind); err != nil || ours != theirs {
			return false, err
		}
	}
	return f.SameRoot(p.PID, other)
}

// SameRoot reports whether two processes of one mount namespace have the same root directory: one
// may be in a chroot.
func (f FS) SameRoot(pid, other int) (bool, error) {
	ours, err := os.Stat(f.Root(pid))
	if err != nil {
		return false, f.explain(pid, err)
	}
	theirs, err := os.Stat(f.Root(other))
	return err == nil && os.SameFile(ours, theirs), f.explain(other, err)
}

// Root returns the path through which the files of a process are seen as the
// process sees them.
func (f FS) Root(pid int) string { return f.path(pid, "root") }

// WorkingDir returns the path through which the working directory of a process is seen as the
// process sees it.
func (f FS) WorkingDir(pid int) string { return f.path(pid, "cwd") }

// Sockets returns the inodes of the sockets that a process has open; none if
// its descriptors must not be read.
func (f FS) Sockets(pid int) []uint32 {
	var inodes []uint32
	f.descriptors(pid, func(_ string, target []byte) {
		if inode, ok := socketInode(target); ok {
			inodes = append(inodes, inode)
		}
	})
	return inodes
}

// MountTable returns the mountinfo of a process; the error of one that is too large is
// ErrTooLarge.
func (f FS) MountTable(pid int) (string, error) {
	b, err := readWhole(f.path(pid, "mountinfo"), maxTable)
	return string(b), f.explain(pid, err)
}

// maxMountLine is what one line of a mountinfo can have, in bytes, and more: it has two paths,
// and each of their bytes may be escaped.
const maxMountLine = 64 << 10

// EachMount calls each with the lines of the mountinfo of a process, as they are read,
// and returns how many bytes these were. The error of more than limit bytes is
// ErrTooLarge: a process can have as many mounts as the kernel lets it. A line is valid
// during the call only.
func (f FS) EachMount(pid int, limit int64, each func(line []byte)) (n int64, err error) {
	file, err := os.Open(f.path(pid, "mountinfo"))
	if err != nil {
		return 0, f.explain(pid, err)
	}
	defer func() { _ = file.Close() }() // it is only read
	lines := bufio.NewScanner(io.LimitReader(file, limit+1))
	lines.Buffer(nil, maxMountLine)
	for lines.Scan() {
		if n += int64(len(lines.Bytes())) + 1; n > limit {
			return n, fmt.Errorf("read mounts of process %d: %w: more than %d bytes", pid, ErrTooLarge, limit)
		}
		each(lines.Bytes())
	}
	return n, f.explain(pid, lines.Err())
}

// lockReads is how often the locks are read for one that is not among them. The kernel
// gives a page of them at a time and counts from the first for the next: one is left out
// if an earlier one was released in between.
const lockReads = 3

// lockPage is the least of what the kernel gives at a time, in bytes: fewer are all.
const lockPage = 4096

// LockHolder returns the PID of the process that holds the flock on the file at the
// path, 0 if there is none or it is in another PID namespace.
func (f FS) LockHolder(path string) int {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0
	}
	device := uint64(st.Dev) // signed on some systems
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(device), unix.Minor(device), st.Ino)
	return lockHolder(file, func() []byte {
		b, _ := readBounded(filepath.Join(string(f), "locks"), maxLocks) // none are shown, then
		return b
	})
}

// lockHolder looks for the file, DEVICE:INODE, in what is read of /proc/locks.
func lockHolder(file string, read func() []byte) int {
	for range lockReads {
		for l := range flocks(read()) {
			if l.file == file {
				return l.pid
			}
		}
	}
	return 0
}

// heldFlock is a flock that a visible process holds.
type heldFlock struct {
	pid  int
	mode string // WRITE is exclusive
	file string // DEVICE:INODE
}

// flocks parses the lines of /proc/locks:
//
//	1: FLOCK  ADVISORY  WRITE 4711 00:2d:1234 0 EOF
//	1: -> FLOCK  ADVISORY  WRITE 6681 00:2d:1234 0 EOF
//
// The second process waits for the first, and holds nothing.
func flocks(table []byte) iter.Seq[heldFlock] {
	return func(yield func(heldFlock) bool) {
		for line := range strings.Lines(string(table)) {
			fields := strings.Fields(line)
			if len(fields) < 6 || fields[1] != "FLOCK" {
				continue
			}
			pid, err := strconv.Atoi(fields[4])
			if err == nil && pid > 0 && !yield(heldFlock{pid, fields[3], fields[5]}) {
				return
			}
		}
	}
}

func (f FS) path(pid int, name string) string {
	return filepath.Join(string(f), strconv.Itoa(pid), name)
}

// read returns at most limit bytes of a file of a process.
func (f FS) read(pid int, name string, limit int64) ([]byte, error) {
	b, err := readBounded(f.path(pid, name), limit)
	return b, f.explain(pid, err)
}

// explain turns the error of a read into ErrGone where the process has ended: of one
// that its parent has not waited for the kernel has a directory without some of the
// files, and links of one that has just ended must not be read. With the mount option
// hidepid a process of another user has no directory either, but it can be signalled.
func (f FS) explain(pid int, err error) error {
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) ||
		errors.Is(err, fs.ErrPermission) && f == Default && f.absent(pid) && !exists(pid)
	switch {
	case err == nil:
		return nil
	case !gone:
		return fmt.Errorf("read process %d: %w", pid, err)
	case runtime.GOOS != "linux" && f == Default:
		return fmt.Errorf("read process %d: %w", pid, errors.ErrUnsupported)
	case f == Default && pid > 0 && exists(pid) && !f.exiting(pid):
		return fmt.Errorf("read process %d: %w", pid, fs.ErrPermission)
	}
	return fmt.Errorf("read process %d: %w", pid, ErrGone)
}

// absent reports whether a process has no directory.
func (f FS) absent(pid int) bool {
	_, err := os.Lstat(f.path(pid, ""))
	return errors.Is(err, fs.ErrNotExist)
}

// exiting reports whether a process that has a directory has ended, or is about to: then
// the kernel takes its memory and its namespaces.
func (f FS) exiting(pid int) bool {
	var p Process
	stat, err := readBounded(f.path(pid, "stat"), maxFile)
	return err == nil && p.parseStat(string(stat)) == nil && p.exiting
}

// exists reports whether the kernel knows the PID, whether or not /proc shows it.
func exists(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

func readBounded(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, limit))
}

// readWhole is readBounded of a file of which no part may be missing.
func readWhole(path string, limit int64) ([]byte, error) {
	b, err := readBounded(path, limit+1)
	if err == nil && int64(len(b)) > limit {
		return nil, fmt.Errorf("read %s: %w: more than %d bytes", path, ErrTooLarge, limit)
	}
	return b, err
}
