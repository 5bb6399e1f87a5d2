// Package logs reads the log files of containers: one attempt across its
// rotated files, and several containers merged in the order of time.
//
//	0.log.20260102-150405 ┐
//	0.log.20260102-160000 ├─► Reader ─► records ─► joiner ─► Line ┐
//	0.log                 ┘   (one attempt of a container)        ├─► Group ─► each
//	                                            other Readers ────┘   by time
//
// A Reader is pulled: Next returns a line, or that there is none now. It never
// waits, so that all that is decided about order, rotation and limits is a
// function of the files. Group is the shell: it alone waits, for a change of a
// directory or for the next poll.
//
// A file is opened only if it is a regular one that no symbolic link names:
// paths come from the runtime, and the directory may be mounted into a
// container. Memory is bounded whatever the files hold: a line is joined from
// its parts up to maxLine, a longer one is passed on in pieces.
//
// A Reader is used by one goroutine; the methods of a Group by any, except
// Run, which blocks until all sources have ended.
//
// Differs from the kubelet in (k8s.io/cri-client/pkg/logs, which crictl uses
// too): rotated files are read, unless they are compressed; the tail counts
// lines, not parts of them, and those of the selected stream only; a file that
// is replaced while it is followed is read to its end, and so is what was
// rotated in between; symbolic links are not followed.
package logs
