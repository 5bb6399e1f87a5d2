// Package inventory joins what is known of the pods of one runtime.
//
//	runtime listing (package cri) ────────────┐
//	control sockets of podctl processes ──────┼──► Merge ──► []*Pod ──► Filter
//	owner locks: which instances are alive ───┘
//
// Reader collects: it blocks on the runtime and on control sockets, each call
// with a deadline. Merge and Filter are pure. A Pod is a snapshot; nothing
// changes it after Merge except Reader.ReadStatuses.
//
// Differs from the kubelet in: a kubelet is alone on its runtime, so that it
// needs no owner of a pod.
package inventory
