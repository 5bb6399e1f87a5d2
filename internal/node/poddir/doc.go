// Package poddir names the directories of pods below podctl's root, and keeps the record
// of a pod in its directory.
//
//	<root>/pods/<uid>                   of the pod, on the runtime that had it first
//	<root>/pods/<uid>@<runtime>         of a pod of that UID on another runtime
//	<log-dir>/<ns>_<name>_<uid>[@<runtime>]
//
//	<root>/pods/<uid>/podctl.json ◄── SignRecord ── node, before anything else of the pod is on the host
//	                              ◄── WriteRecord ─ node (stop, end, hold)
//	                              ──► ReadRecord ── node at adoption; orphans; terminating
//
// The UID of a pod follows from its manifest, so that the same manifest has one UID
// on all runtimes of a host. The record in a directory says whose it is: the instance
// and its runtime.
//
// Dirs is one runtime's view. Its methods read a directory entry at most, and are
// safe for concurrent use. Mounts reads the mount table once for all directories.
//
// The record, podctl.json, is the one file that podctl keeps of a pod beside what the
// runtime holds: annotations of a sandbox are immutable, so that the pod was asked to
// stop, and how it ended, is written here. A record can only make a pod more stopped, but
// for the resources that it was resized to and the containers that podctl debug added: one
// that is absent or cannot be read is the zero Record, which stops nothing. A file is
// replaced in one step, so that a reader sees the old record or the new one, after a crash
// too. Reading and writing block as long as the disk does. A Record is a value; who writes
// one to a directory is the caller's affair.
//
// Differs from the kubelet in: a kubelet has one runtime, and the API server for the
// record.
package poddir
