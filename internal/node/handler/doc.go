// Package handler runs the actions that hooks and probes have in common: on one
// container, with success or failure as the result.
//
//	LifecycleHandler ─► Run ───┐       ┌─► exec     a command in the container, through Execer
//	                           ├───────┼─► httpGet  from the host to the pod
//	v1.Probe ─────────► Probe ─┘       ├─► tcp      (probes) a connection
//	                                   ├─► grpc     (probes) grpc.health.v1
//	                                   └─► sleep    (hooks)  a wait
//
// The two differ in detail: a probe has a timeout and checks the response, a hook
// has neither. A probe does not keep its connection, has the user agent
// kube-probe, and its status must be below 400; a hook has the user agent
// kube-lifecycle, accepts any HTTP response, and falls back from https to http.
// A tcpSocket hook is valid and always fails, as in the kubelet.
//
// The caller owns the deadline of a hook: Run ends when its context does.
// Nothing is kept between calls, and any number may run at once. The output
// of a command and a body may be secret: they are returned, not logged.
//
// It answers to pkg/probe, runProbe in pkg/kubelet/prober/prober.go, and
// pkg/kubelet/lifecycle/handlers.go.
//
// # Differs from the kubelet in
//
//   - What outlives its context is cancelled, in the runtime too; the kubelet
//     lets it go on by itself.
//   - An httpGet hook without a host goes to the host's address in a pod of
//     the host's network; the kubelet finds no address there and fails.
//   - The command in the message of an exec probe that timed out is the one in
//     the manifest, with its references to variables not expanded.
//   - A header may have 64 KiB; texts of errors and a hook's output are cut to 10 KiB.
//   - The user agents have the version of the kubelet that is followed, not podctl's.
package handler
