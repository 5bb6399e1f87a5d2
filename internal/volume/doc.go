// Package volume keeps the directories of pods on disk: their volumes, the
// files that containers get from the node, and the safe removal of all of it.
//
//	<root>/pods/<uid>/                                 0750, one pod
//	   ├── etc-hosts                                   0644, WriteFile
//	   ├── containers/NAME/<id>                        0666, TerminationLog
//	   └── volumes/kubernetes.io~empty-dir/NAME        0777, Mount
//
// A kind of volume is one file here and one entry in kinds: it says which
// volumes are its, and makes one. What lies in the pod's directory goes with
// it; a hostPath lies elsewhere and is never removed.
//
// The disk is the only state, but for the volumes that Mount has made in this
// process: those are not checked again while the pod lives, as in the kubelet.
// A Manager may be used from several goroutines, for one pod by one at a time.
// Everything here does file I/O and may block on a slow disk.
//
// Removal never follows a symlink and never crosses a mount point: a tree with
// a mount anywhere in it is refused as a whole, and the error names the
// mounts. Containers can make both (a mount with mountPropagation
// Bidirectional, a symlink in an emptyDir).
//
// # Differs from the kubelet in
//
//   - The files are replaced atomically, and only if they changed; the kubelet
//     rewrites etc-hosts in place at every start of a container.
//   - An emptyDir appears complete, by a rename; the kubelet keeps a ready file.
//   - Only emptyDir on disk and hostPath are built; any other kind is an error.
package volume
