// Package source follows where manifests come from: a directory, a file or a
// URL. What it delivers is always a whole set of pods, and never less than
// what is known to be wanted: a pod goes only when it was *read* that it is
// gone.
//
//	fsnotify ─┐                                   ┌─► Update{Pods, Objects}
//	ticker ───┼─► Follow ──► read ──► State.Next ─┤
//	(URL) ────┘   (shell)           (pure)        └─► Update.Notices, each once
//
// State keeps for every file what was last good about it. A read that failed
// as a whole (no directory, 404, an I/O error, another file system under the
// same name) changes nothing; a file that cannot be read or is invalid keeps
// the pods that it had; a file that is not there any more has none.
//
// Follow owns the State and blocks; it calls Deliver from its own goroutine.
// fsnotify is a hint to read now; the ticker reads in any case, because some
// file systems notify of nothing.
//
// A snapshot of a directory counts only if it looks the same before and after
// its files were read, so that a rename, or the ..data swap of a mounted
// ConfigMap, is seen as one step. Files are those that `podctl run DIR` reads:
// *.yaml, *.yml and *.json, but hidden ones and subdirectories; others are named in a notice. Editors' backups
// (web.yaml~, #web.yaml#, .web.yaml.swp) are none of them. With AllFiles each file is read
// that is not hidden.
//
// A new file that no process has open for writing is read at once; other changes
// when nothing has happened for 100 ms, so that a manifest that is written in several
// steps is not read half.
//
// Differs from the kubelet in: an invalid or unreadable manifest leaves the
// running pod alone, where the kubelet terminates it; a directory that
// disappears keeps its pods, where the kubelet's empties; only names of
// manifests are read unless AllFiles is set, where the kubelet reads every file that is not hidden;
// of two files that name one pod the one that had it first keeps it, also after a restart; of
// two objects of one name, until a restart.
// (pkg/kubelet/config/file.go, file_linux.go, http.go)
package source
