// Package podrecord is podctl.json, the one file that podctl keeps of a pod
// beside what the runtime holds: annotations of a sandbox are immutable, so that
// the pod was asked to stop, and how it ended, is written here.
//
//	<root>/pods/<uid>/podctl.json ◄── Sign ─── node, before anything else of the pod is on the host
//	                              ◄── Write ── node (stop, end, hold)
//	                              ──► Read ─── node at adoption; orphans; terminating
//
// It also says whose the directory is: the instance and its runtime. The
// directories of several runtimes may lie below one root, and only the record
// tells them apart.
//
// A record can only make a pod more stopped, but for the resources that it was
// resized to and the containers that podctl debug added: one that is absent or cannot be read is the zero Record, which stops
// nothing. A file is replaced in one step,
// so that a reader sees the old record or the new one, after a crash too.
//
// Reading and writing block as long as the disk does. A Record is a value; who
// writes one to a directory is the caller's affair.
//
// Differs from the kubelet in: the kubelet has the API server for this.
package podrecord
