// Package handler runs what hooks and probes have in common: an action on one
// container that either succeeds or does not.
//
//	LifecycleHandler ─► Run ─┬─► exec   a command in the container, through Execer
//	                         └─► sleep  a wait
//
// The caller owns the deadline: Run ends when its context does. It keeps no
// state, and several may run at once.
//
// # Differs from the kubelet in
//
//   - httpGet and tcpSocket are an error that says so, not yet built.
//   - An exec that outlives its context is cancelled in the runtime; the
//     kubelet lets it go on by itself.
package handler
