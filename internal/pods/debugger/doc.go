// Package debugger runs a debug container in the sandbox of a pod that podctl does not
// manage, like an ephemeral container.
//
//	sandbox ─► Config (pure) ─► Create ─► Start ─► running ─► Wait ─► Remove
//	                                                  ▲
//	                              end of the sandbox ─┘
//
// The container has the pod's labels and podctl.io/debug: a kubelet kills containers that
// belong to no pod, but ignores a container that its spec does not name while the pod
// runs. When the kubelet terminates the pod, it reports an error for the container, stops
// the sandbox, which kills the container, and succeeds at its next attempt. Remove leaves
// nothing behind.
//
// Create, Start, Wait and Remove block on the runtime. Nothing else of the pod is touched.
//
// Differs from the kubelet in: the API server does not know the container.
package debugger
