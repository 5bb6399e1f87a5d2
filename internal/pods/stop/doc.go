// Package stop stops and removes pods on request of the user.
//
//	managed pod ───► its podctl process (control socket): hooks, grace period, stays stopped
//	unmanaged pod ─► claim its name ─► runtime calls ─► with Remove, leftover files
//	with Force, a podctl process that does not answer is bypassed after 10 s
//
// Stop blocks until nothing of the pod runs, or ctx ends. Several pods may be
// stopped at the same time.
//
// Differs from the kubelet in: a pod without a living podctl process is stopped
// by runtime calls alone, without its hooks.
package stop
