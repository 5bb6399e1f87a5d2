// Package preempt answers, without touching anything, whether a pod fits on a
// node, and which pods the kubelet would preempt for a critical one that does not.
//
//	pod, node, pods ─► Admit ─┬─ OS, groups policy ──────────────► rejected
//	                          ├─ selector, name, ports, taints ──► rejected
//	                          ├─ resources, not critical ────────► rejected: OutOf…
//	                          └─ resources, critical ─► Plan ─┬──► rejected: UnexpectedAdmissionError
//	                                                          └──► admitted, when the victims are gone
//
//	Plan:  guaranteed ─► burstable ─► best-effort     computed in this order, each as if all
//	       ◄──────────────────────────────────────    after it were gone; killed in the reverse
//
// Everything but Tally is a pure function of its arguments: pods are read and never
// changed, there is no clock, and nothing blocks. Results belong to the caller. A Tally
// adds up what the pods of a node hold as they come and go, and answers for a pod that
// fits without looking at them; for any other Admit is asked.
// Who holds requests is the caller's to know: pods are the active ones (see
// Active), in the kubelet's order, which decides ties. docs/preemption.md walks
// through an example.
//
// # Differs from the kubelet in
//
//   - Scalar resources (hugepages, extended) are checked in the order of their
//     names; the kubelet's order is random.
//   - Node labels and a node name that the caller does not know (nil, "") are
//     not checked, nor are taints and features of a node without a name (nil), and
//     Decision.Unchecked says so. A kubelet always knows them.
//   - The node's operating system comes from its status, "linux" if that is
//     empty, not from the machine podctl runs on.
//   - Device plugins are not asked; a node has what its allocatable says.
//   - A victim that cannot be killed is the caller's affair. The kubelet admits
//     the critical pod all the same.
package preempt
