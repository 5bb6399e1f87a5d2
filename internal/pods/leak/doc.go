// Package leak finds what containers and sandboxes left on the host that the runtime does
// not list any more, and removes it.
//
//	runtime's lists ──┬─────────────────────────────────┐
//	/proc, cgroups,   │                                 ▼
//	mounts, bundles,  ├─► Scan: things, and traces ─► Judge (pure) ─► leaks, unknown
//	leases, CNI cache ┘   of ids
//
// A thing is leaked only if it is known that this runtime made it for a pod: by the socket
// of its shim, by the runtime's own directories, by the cgroup that podctl has for this
// runtime; or it was made through the CRI, and no other runtime is seen on the host. Several
// runtimes may share a host, and what another one may have is unknown.
// The runtime is listed before and after the scan, and whatever is younger than a sandbox
// takes to be created is left alone.
//
// Finder reads files and /proc and blocks on the runtime; a Finder is used by one goroutine.
// Remove looks at each thing once more, and kills by pidfd only.
//
// Differs from the kubelet in: the kubelet leaves all of this to the runtime.
package leak
