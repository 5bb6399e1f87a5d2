// Package logrotate keeps the log files of running containers small.
//
//	0.log ──► 0.log.20260102-150405 ──► 0.log.20260102-150405.gz ──► removed
//	          renamed, and the runtime   compressed at the next
//	          reopens 0.log           rotation
//
// plan is pure: which of the files beside a log are left over from a rotation
// that was cut short, which are to be compressed and which to be removed. Rotate
// carries it out for one container; it blocks for as long as compressing
// takes, or until its context ends.
//
// A container may have the directory of its logs. Nothing but regular files is opened,
// compressed or counted, no link is followed, neither of the log nor of the directories of
// its pod and container, and what is read is bounded.
//
// A rename that the runtime does not follow, because it cannot reopen the file,
// is undone, unless the runtime has made a new file; the next check lets it reopen the
// log again. A log that is not there is reopened.
//
// Differs from the kubelet in (pkg/kubelet/logs/container_log_manager.go): one
// container at a time, and only those of this podctl; the kubelet follows links, renames
// back over a new file, and does not rotate a log while what is beside it cannot be
// removed or compressed.
package logrotate
