// Package pulls lists the image pulls of a runtime that are in flight, of all clients,
// with the bytes of each layer.
//
// The CRI does not report the progress of a pull. containerd's own API, at the same
// socket, does:
//
//	lease  ─────► content: the index and the manifest, the layers that are complete
//	(one a pull,    │          └── manifest ─► layers with sizes ─► config ─► chain ids
//	 until it ends) ├───► ingests: "layer-sha256:…", with the bytes written
//	                └───► snapshots: the layers that are unpacked
//
// Reader asks for these; assemble, which is pure, makes pulls of the answers. Other
// runtimes do not implement the services: the error is a cri.ErrUnsupported. With it come
// the pulls of a CRI-O, by the files that its process writes: bytes without an image.
//
// containerd learns the tag of an image when the pull is complete. Until then it knows the
// repository, without the port of its registry, from the label of the manifest's source,
// and the digest: Pull.Of finds the pull of an image by these.
//
// What a registry sent is hostile: manifests are read with bounds on their size and their
// layers, sizes are added with a bound, and a manifest that cannot be read leaves the
// layers in flight, without a total. All calls of a List share one deadline.
package pulls
