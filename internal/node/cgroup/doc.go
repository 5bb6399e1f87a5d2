// Package cgroup creates and removes the cgroups of pods, below which the runtime
// creates those of their containers, and reads what the kernel counts in them.
//
//	/kubepods                        guaranteed pods lie directly below
//	   ├── pod<uid>                  limits of the pod: see PodLimits
//	   │      └── <container>        the runtime's, not ours
//	   ├── burstable/pod<uid>        shares: what its pods request together
//	   └── besteffort/pod<uid>       shares: 2
//
// With the systemd driver the same names are slices,
// /kubepods.slice/kubepods-burstable.slice/…. A name is in every v1 hierarchy
// that is mounted, with the empty unified one of a hybrid host, or in the one
// of v2; the library opencontainers/cgroups knows the difference.
//
// The kernel's tree is the only state. What podctl itself made carries the
// mark trusted.podctl (an extended attribute), so that a later podctl may
// remove the parents that an earlier one left, and no others. A Manager may
// be used from several goroutines. Every method does file I/O, and over D-Bus
// with systemd; Remove may wait half a second for killed processes to go. A
// lock on podctl's run directory keeps podctls from making a pod and removing its
// parents at one time; the wait for it is bounded and ends with its context.
//
// A Tree finds the cgroups of all containers by their ids, in both versions and in
// the spelling of each runtime; Stat, Pressure and PSI read one. What the kernel does not
// show is nil, and never zero.
//
// A Leftover is a pod's cgroup that podctl made and in which no process is.
// RemoveLeftover kills nothing, unlike Remove, and leaves a cgroup alone that was
// made again since it was found.
//
// The tree may be shared, by a kubelet or by other podctls with the same root:
// List shows all of its pods, and the caller knows which are its own.
//
// # Differs from the kubelet in
//
//   - The root has no limits: there is no node allocatable to enforce.
//   - Parents are made when a pod first needs them and removed when empty.
//   - There is no limit on process ids, and no memory QoS: the kubelet's
//     defaults.
package cgroup
