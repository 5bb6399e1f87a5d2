// Package podsync is what it means to sync a pod: to compare it with what the
// runtime holds of it, and to do the next step. And to end one.
//
//	                 pure                            carried out
//	pod ────┬─► Actions ──► Plan ──► Sync       prepare, kill, remove, sandbox, start
//	Status ─┤                        Terminate  hooks, order, grace, stop, sandboxes
//	Probes ─┤                        Cleanup    volumes, cgroup
//	Backoff ┴─► PodStatus ─► v1.PodStatus       phase, conditions, container states
//
// Actions, PodStatus and Backoff are pure: no clock, no calls. A Syncer carries
// plans out against small interfaces (Runtime, Cgroups, Volumes, Events).
// Everything it does may be repeated: after a crash at any point, a fresh status
// and another Sync lead to the same end.
//
// The caller owns the order of things: it calls at most one of Sync, Terminate
// and Cleanup at a time for a pod, each with a status newer than the end of the
// one before. All of them block on the runtime; Terminate as long as the grace
// period. What a Syncer remembers of a pod is worth having and not needed.
//
// # Differs from the kubelet in
//
//   - A cancelled Sync or Terminate ends at the next call, pull, hook or stop;
//     the kubelet's go on. So a shorter grace period counts at once. A preStop
//     hook that was begun is not begun again by the next Terminate.
//   - A hook that outlives its grace period is cancelled when its container has
//     been stopped; the kubelet leaves it to itself.
//   - A name that a leftover holds is passed over by raising the attempt, of
//     sandboxes and containers; the kubelet fails until somebody removes it.
//   - StopContainer that runs out of time is repeated with no grace at once.
//   - A container that the pod does not name (any more) is stopped all the
//     same; the kubelet's termination fails on it for ever.
//   - Cgroup and directories are seen to only when something is to be
//     started; a running pod whose cgroup vanished is not killed for it.
//   - An image is asked for once per sync and its user taken from the same
//     answer. Pulls are not made one after the other.
//   - When some containers wait for a back-off and others failed otherwise, the
//     next try is after 10 s, not after the back-off.
//   - The status of a pod whose start has failed shows why at once, not from the
//     next sync on; its start time survives a restart as the age of its first
//     sandbox; a phase that is terminal is final.
//   - The resources in the status are the manifest's, not read back from the
//     runtime and the pod's cgroup: podctl changes none of a running pod.
package podsync
