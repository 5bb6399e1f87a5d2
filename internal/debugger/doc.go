// Package debugger runs a container of its own in the sandbox of a pod that podctl
// does not manage, as an ephemeral container of the pod would run.
//
//	sandbox ─► Config (pure) ─► Create ─► Start ─► running ─► Wait ─► Remove
//	                                                  ▲
//	                              end of the sandbox ─┘
//
// The container has the pod's labels, and podctl.io/debug beside them: a kubelet
// kills what belongs to no pod, and ignores a container of its pod that the pod
// does not name, as long as the pod runs. When it terminates the pod, it reports an
// error for the container, stops the sandbox all the same, which kills it, and
// succeeds when it tries again. Remove leaves nothing behind.
//
// Copy, which is pure, makes the changed copy of a pod that `podctl debug --copy-to` runs.
//
// Create, Start, Wait and Remove block on the runtime. Nothing else of the pod is touched.
//
// Differs from the kubelet in: the API server does not know the container.
package debugger
