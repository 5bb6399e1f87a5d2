// Package gc says which dead containers, dead sandboxes and unused images may
// go, and takes them away.
//
//	listing ─► Containers ─┐
//	        ─► Sandboxes ──┼─► Collector ─► RemoveContainer, RemovePodSandbox, RemoveImage
//	images  ─► Images ─────┘   (shell)
//
// The three are pure. The Collector owns what is known of images, which is when
// each was first seen and last used; it is not kept across restarts. Its Run
// blocks; it touches only pods that it is told are its own's to look after, and
// never a running container or a ready sandbox.
//
// Differs from the kubelet in: only pods of this podctl are looked at, because
// there may be others on the runtime; what belongs to pods that are gone is not
// garbage here, but removed with its pod. The rules are those of
// pkg/kubelet/kuberuntime/kuberuntime_gc.go and pkg/kubelet/images/image_gc_manager.go.
package gc
