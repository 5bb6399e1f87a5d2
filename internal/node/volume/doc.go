// Package volume keeps the directories of pods on disk: their volumes, the
// files that containers get from the node, and the safe removal of all of it.
//
//	<root>/pods/<uid>/                                 0750, one pod
//	   ├── etc-hosts                                   0644, WriteFile
//	   ├── containers/NAME/<id>                        0666, TerminationLog
//	   ├── volumes/kubernetes.io~KIND/NAME             Mount: a directory, or a mount
//	   └── volume-subpaths/VOLUME/CONTAINER/N          BindSubPath: a mount
//	<root>/claims/NAMESPACE/NAME                       Mount; never removed
//
// A kind of volume is one file here and one entry in kinds: it says which
// volumes are its, and makes one. What lies in the pod's directory goes with
// it; a hostPath and a claim lie elsewhere and are never removed.
//
//	pod, objects ──► collect ──► files ──► update ──► ..data   content.go, atomic.go
//
// The kinds with files of podctl's (configMap, secret, downwardAPI, projected)
// are brought up to date by every Mount. The disk and the kernel's list of
// mounts are the only state, but for the names of the volumes that Mount has
// made in this process: the others are not looked at again while the pod
// lives, as in the kubelet. A Manager may be used from several goroutines, for
// one pod by one at a time. Everything here does file I/O and may block on a
// slow disk. Values of Secrets are in no error.
//
// Unmount takes away the mounts that are podctl's own by their place and type.
// Removal never follows a symlink and never crosses a mount point: a tree with
// any other mount in it is refused as a whole, and the error names the mounts.
// Containers can make both (a mount with mountPropagation Bidirectional, a
// symlink in an emptyDir).
//
// Containers can nest directories without limit: walk_linux.go and
// remove_linux.go take linear time and a bounded number of descriptors.
//
// Parts of volumes, for subPath, are mounted by their open descriptors, so that
// no container can exchange them for something outside: see subpath_linux.go.
//
// # Differs from the kubelet in
//
//   - The files are replaced atomically, and only if they changed; the kubelet
//     rewrites etc-hosts in place at every start of a container.
//   - An emptyDir appears complete, by a rename; the kubelet keeps a ready file.
//   - A tmpfs gets its group and mode when it is mounted; the kubelet changes
//     them afterwards.
//   - A volume that cannot be brought up to date stays mounted with what it has;
//     the kubelet may unmount it under its containers.
//   - A file's owner that cannot be changed is an error; the kubelet logs it.
//   - A claim is a directory, in use as long as a pod has a symlink to it;
//     there are no persistent volumes.
//   - There are no project quotas: an emptyDir's sizeLimit is measured, at any
//     depth.
//   - What is mounted in a claim does not get the fsGroup.
package volume
