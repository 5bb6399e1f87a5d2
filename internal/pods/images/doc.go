// Package images joins the images of a runtime with the pods that use them.
//
//	ListImages ─────────────┐
//	containers ─────────────┤
//	their image volumes ────┼─► Join ─► images, and who uses each
//	specs of known pods ────┤
//	the sandbox image ──────┘
//
// Join and Match are pure. A Reader makes the calls, remembers the mounts of
// containers, which do not change, and may block as long as the runtime does.
//
// Differs from the kubelet in: an image is also in use if the spec of a pod names it
// (detectImages in pkg/kubelet/images/image_gc_manager.go looks at containers only), and
// the image of sandboxes is pinned even if the runtime does not mark it (containerd 1.x).
package images
