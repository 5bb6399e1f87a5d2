// Package usage measures what containers and pods use: CPU, memory, processes,
// network and disk.
//
//	cgroup files ────────────┐
//	/proc/PID/net/dev ───────┼─► Sampler ─► Snapshot ─┐
//	ListContainerStats, ─────┘                        ├─► Between ─► Usage ─► Sum of a pod
//	ListPodSandboxStats         an interval later: ───┘
//
// Between and Sum are pure. A rate comes from two readings of one counter of one
// container or sandbox, never from two sources or two containers, so that a
// restart makes it unknown and not negative. nil is unknown: it is never shown as
// zero.
//
// The cgroup files are read first: they are what the runtimes read, show throttling
// too, and cost no call. The runtime is asked for the writable layer, and for all of
// a container whose processes are not in its cgroup, such as in a virtual machine.
//
// A Sampler blocks on the runtime for at most statsTimeout; its owner uses it from
// one goroutine.
//
// Differs from the kubelet in: the kubelet asks cAdvisor or the runtime, and keeps
// samples of its own every ten seconds.
package usage
