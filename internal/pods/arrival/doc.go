// Package arrival answers what happens to pods that arrive at this node: whether
// the kubelet would admit them, and which pods it would preempt for them.
//
//	cluster, kubelet, manifests, podctl processes ─► Read ─► Node ─► Admit (package preempt)
//
// Read asks all sources and fails if one does not answer: a node that is known in
// part cannot be judged. It reads files and networks, and may block until its
// context ends. Admit is pure, and nothing evicts a pod.
//
// Differs from the kubelet in: the kubelet knows its pods; here they are asked
// for, so that their order, which decides ties, may be another one.
package arrival
