// Package owner says which podctl process manages which pod, by locks that the
// kernel releases when their holder dies.
//
//	<run>/<runtime>/instance-run-5f2a.lock   held while that process lives
//	<run>/<runtime>/pod-web_default.lock     held while a process manages a pod of that full name
//
// An instance has a *name*: "agent", or one for each `podctl run`; and an *id*,
// which no other process ever has. What it creates carries both as annotations. A
// later instance of the name takes the pods over. Which process manages a pod *now*
// is which one holds its name's lock, so that a second podctl can take over from a
// dead one although annotations cannot change. Claiming is atomic: of two processes
// that claim one name, one gets it and the other is told which has it.
//
// The locks of a runtime are in one directory, by whatever endpoint it is reached:
// Join finds the living instances of the same runtime by what the runtime says about
// itself, which a proxy does not change.
//
// A lock whose file was deleted guards nothing: Restore, which the node calls
// every two seconds, takes it again. Until then other processes find it among the
// open files of its holder (LockHolders.DeletedLocks) and leave to it what is its own. In the same
// way the processes of a runtime are found that have another run directory (LockHolders.OtherLockDirs).
//
// The locks are flock(2) on files; those of processes that were killed are removed
// by the next one that opens the directory. A lock is taken at once or not at all;
// only Join waits, with bounds and until its context ends. All methods of Locks are
// safe for concurrent use.
//
// Differs from the kubelet in: everything. A kubelet is alone on its socket
// and kills whatever it does not know.
package owner
