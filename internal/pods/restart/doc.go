// Package restart restarts containers of any owner in place, in the sandbox that their pod
// has.
//
//	verdict ─► decide (pure) ─► its podctl process: requested by its control socket
//	                         └► its kubelet: preStop hook, StopContainer; the kubelet starts it
//	                 both ─► wait for the next attempt
//
// A container is restarted only if its owner lives and starts it again: decide answers the
// first by the verdict about its pod, podsync.RestartRequest the second by its spec. What
// is not known is refused without Force.
//
// Restart blocks for the grace period, and with Wait until the next attempt has started;
// all ends with ctx. The name of a kubelet's pod is locked while its containers are
// stopped, so that no other command of podctl does so.
//
// Differs from the kubelet in: the kubelet has no such request. Its liveness probes stop a
// container in the same way, hook and grace period included (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
package restart
