// Package survey counts, periodically, what a cluster asks of each of its nodes:
// the orphans by class, and the pods that do not terminate by layer.
//
//	orphan.Finder ──────┐                       ┌─► Latest ─► package metrics
//	view.Reader ────────┼─► Findings ─► Count ──┤
//	the kubelet ────────┘              (pure)   └─► Log, where it is not complete any more
//
// What is not known is not counted as 0: a class or layer without a count is
// left out of a Report unless its count is known to be 0. What is in a Report
// is therefore never too high, and 0 is always true.
//
// Scanner.Run owns all state and makes one scan at a time; a scan blocks on the
// runtime, on control sockets and on the kubelet, for at most half of its period.
// Scanner.Latest does not block. A scan costs two list calls, one status call for
// each container that runs since the scan before, and one request to the kubelet,
// which is tried with each of its credentials, and more where its pods do not suffice.
//
// The kubelet has no counterpart: it acts on what it finds and counts only what
// it has terminated (kubelet_orphaned_runtime_pods_total).
package survey
