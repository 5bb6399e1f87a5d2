// Package userns assigns to each pod with a user namespace (hostUsers: false) a
// range of 65,536 consecutive user and group ids of the host, which no other
// pod of the same root directory has.
//
//	<root>/pods/          locked while a range is chosen
//	   ├── <uid>/userns   {"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],…}
//	   └── <uid>/userns   {"uidMappings":[{"hostId":131072,…
//
// The files are the only state, so that several podctl processes can share a
// root, and a range survives a restart. Their format is the kubelet's. Removing
// the pod's directory frees its range.
//
// Of does file I/O and may wait, with a bound, for another process that chooses.
//
// # Differs from the kubelet in
//
//   - The lowest free range is assigned, not a random one.
//   - All ids from 65,536 on are assigned; the kubelet uses those that getsubids
//     reports for the user "kubelet", if it exists.
//   - Processes with different root directories, and a kubelet, do not know each
//     other's ranges, and may assign the same ids.
package userns
