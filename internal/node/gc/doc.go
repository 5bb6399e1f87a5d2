// Package gc decides which dead containers, dead sandboxes and unused images are
// garbage, and removes them.
//
//	listing ─► Containers ─┐
//	        ─► Sandboxes ──┼─► Collector ─► RemoveContainer, RemovePodSandbox, RemoveImage
//	images  ─► Images ─────┘   (shell)
//
// The three are pure. The Collector owns what is known of images, which is when
// each was first seen and last used; it is not kept across restarts. Its Run
// blocks; it touches only the pods that Options.Mine returns, and never a
// running container or a ready sandbox.
//
// Differs from the kubelet in: only pods of this podctl are collected, because
// there may be others on the runtime; containers of removed pods are not garbage
// here, but removed with their pod. The rules are those of
// pkg/kubelet/kuberuntime/kuberuntime_gc.go and pkg/kubelet/images/image_gc_manager.go.
package gc
