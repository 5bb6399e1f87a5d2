// Package poddir names the directories of pods below podctl's root.
//
//	<root>/pods/<uid>                   of the pod, on the runtime that had it first
//	<root>/pods/<uid>@<runtime>         of a pod of that UID on another runtime
//	<log-dir>/<ns>_<name>_<uid>[@<runtime>]
//
// The UID of a pod follows from its manifest, so that the same manifest has one UID
// on all runtimes of a host. Whose the directory with the plain name is says the
// record in it (package podrecord).
//
// Dirs is one runtime's view. Its methods read a directory entry at most, and are
// safe for concurrent use. Mounts reads the mount table once for all directories.
//
// Differs from the kubelet in: a kubelet has one runtime.
package poddir
