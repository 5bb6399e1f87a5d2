// Package filecopy copies files and directory trees into and out of containers.
//
//	/proc/PID/root ─┐                              ┌─► /proc/PID/root
//	directory ──────┼─► Source ─► Copy ─► Sink ────┼─► directory
//	tar of an exec ─┘   Entry by Entry             └─► tar for an exec
//
// A container is hostile: it may replace a directory by a symlink, a file by a FIFO or
// device, or let a file grow, at any time. So every path is resolved by the kernel
// below the file descriptor of a root, without symlinks and magic links (openat2); an
// entry is opened as a path first, examined, and only a regular file is then opened
// for reading; no more is read than the size that was found; and a file appears under
// its name when it is complete. Only the path that the user names may lead through
// symlinks, and then within the root of the container.
//
// Copy keeps mode, owner, modification time, symlinks and hard links. It does not copy
// device nodes, FIFOs, sockets, extended attributes and holes, and clears setuid and
// setgid on the way to the host. Owners are numbers as the container sees them.
//
// Copy blocks until everything is copied or its context ends; a read of a file system
// that does not answer cannot be ended. Memory grows with the number of directories and
// hard links of a tree.
//
// Differs from kubectl cp in: neither tar nor a shell is needed in the container if
// podctl runs as root on its host.
package filecopy
