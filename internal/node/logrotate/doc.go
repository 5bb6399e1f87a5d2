// Package logrotate keeps the log files of running containers small.
//
//	0.log ──► 0.log.20260102-150405 ──► 0.log.20260102-150405.gz ──► removed
//	          renamed, and the runtime   compressed at the next
//	          reopens 0.log           rotation
//
// plan is pure: which of the files beside a log are left over from a rotation
// that was cut short, which are to be compressed and which to be removed. Rotate
// carries it out for one container; it blocks for as long as compressing
// takes. Only the runtime writes to the directory otherwise.
//
// A rename that the runtime does not follow, because it cannot reopen the file,
// is undone: nothing that was logged is lost.
//
// Differs from the kubelet in: one container at a time, and only those of this
// podctl (pkg/kubelet/logs/container_log_manager.go).
package logrotate
