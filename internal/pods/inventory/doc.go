// Package inventory joins what is known of the pods of one runtime.
//
//	runtime listing (package cri) ────────────┐
//	control sockets of podctl processes ──────┼──► Merge ──► []*Pod ──► Filter
//	owner locks: which instances are alive ───┘
//
// Reader collects: it blocks on the runtime and on control sockets, each call
// with a deadline. Owners asks the podctl processes of other endpoints, and reads the open
// files of processes for deleted locks, only for pods that no process of the runtime's
// directory manages. Merge and Filter are pure. A Pod is a snapshot; nothing
// changes it after Merge except Reader.ReadStatuses.
//
// Differs from the kubelet in: a kubelet is alone on its runtime, so that it
// needs no owner of a pod.
package inventory
