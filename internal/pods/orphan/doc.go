// Package orphan finds pods and pod directories that no source desires, and what sandboxes
// left that the runtime does not list any more (internal/pods/leak), and terminates them.
//
//	runtime listing, directories ─► sources: podctl processes, manifests,
//	                                kubelet, static pods, cluster
//	        │                                │
//	        └──────────► View ◄──────────────┘
//	                       │
//	                   Classify (pure) ─► []Orphan ─► Killer, after another look
//
// A source that did not answer desires nothing and forbids everything: with
// View.Refusal set, nothing is terminated. Finder reads files, /proc and networks,
// and may block until its context ends; Killer also waits for the runtime.
// Nothing is kept.
//
// Differs from the kubelet in: the kubelet terminates every pod that it does not
// know within seconds (HandlePodCleanups in pkg/kubelet/kubelet_pods.go).
package orphan
