// Package handler runs what hooks and probes have in common: an action on one
// container that either succeeds or does not.
//
//	LifecycleHandler ─► Run ───┐       ┌─► exec     a command in the container, through Execer
//	                           ├───────┼─► httpGet  from the host to the pod
//	v1.Probe ─────────► Probe ─┘       ├─► tcp      (probes) can it be connected to
//	                                   ├─► grpc     (probes) grpc.health.v1
//	                                   └─► sleep    (hooks)  a wait
//
// What looks alike is not: a probe has a timeout and judges the answer, a hook
// has neither. A probe's request has no connection that stays, asks as
// kube-probe, and its status must be below 400; a hook's asks as
// kube-lifecycle, any HTTP answer is good, and https that turns out to be http
// is tried again as http. A tcpSocket hook is valid and always fails, as in the
// kubelet since ever.
//
// The caller owns the deadline of a hook: Run ends when its context does.
// Nothing is kept between calls, and any number may run at once. What an exec
// or a body says may be secret: it is returned and not logged.
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
//   - The user agents say 1.36 whatever podctl's version is.
package handler
