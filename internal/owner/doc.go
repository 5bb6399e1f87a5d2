// Package owner says which podctl manages which pod, by locks that the
// kernel releases when their holder dies.
//
//	<dir>/instance-run-5f2a.lock      held while that podctl lives
//	<dir>/pod-web_default.lock        held while some podctl manages a pod of that full name
//
// An instance is a *name*: "agent", or one for each `podctl run`. What it
// creates carries that name as an annotation for good; who manages a pod
// *now* is who holds its name's lock, so that a second podctl can take over
// from a dead one although the annotation cannot change. Claiming is atomic:
// of two podctls that want one name, one gets it and the other learns who
// has it.
//
// A lock whose file was deleted guards nothing: Restore, which the node calls
// every two seconds, takes it again.
//
// The locks are flock(2) on files in a directory of one CRI socket; those of
// podctls that were killed are removed by the next one that comes. Nothing
// here blocks: a lock is taken at once or not at all. All methods of Locks
// may be called from several goroutines.
//
// Differs from the kubelet in: everything. A kubelet is alone on its socket
// and kills whatever it does not know.
package owner
