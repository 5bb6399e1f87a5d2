// Package userns gives pods that have a user namespace (hostUsers: false) the
// users and groups of the host that are theirs: 65,536 in a row, which no
// other pod of the same root directory has.
//
//	<root>/pods/          locked while a range is chosen
//	   ├── <uid>/userns   {"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],…}
//	   └── <uid>/userns   {"uidMappings":[{"hostId":131072,…
//
// The files are the only state, so that any number of podctls can share a
// root, and one that was killed finds the range that its pod's containers
// have. The file is the kubelet's. It goes with the pod's directory, which is
// removed when nothing of the pod is left in the runtime: that frees the range.
//
// Of does file I/O and may wait for another podctl that is choosing.
//
// # Differs from the kubelet in
//
//   - The lowest free range is given, not a random one.
//   - All ids from 65,536 on are given out; the kubelet asks getsubids for
//     those of the user "kubelet", if there is one.
//   - Podctls with different root directories, and a kubelet, do not know of
//     each other's ranges, and give out the same ones.
package userns
