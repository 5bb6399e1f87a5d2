// Package podsync syncs a pod: it compares the pod with what the runtime holds
// of it and makes the next changes. It also terminates pods.
//
//	                 pure                            carried out
//	pod ────┬─► Actions ──► Plan ──► Sync       prepare, kill, remove, sandbox, start
//	Status ─┤                        Terminate  hooks, order, grace, stop, sandboxes
//	Probes ─┤                        Cleanup    volumes, cgroup
//	Backoff ┴─► PodStatus ──► Settle ──► published v1.PodStatus ──► Finish
//
// Actions, PodStatus, Settle, Finish and Backoff are pure: no clock, no calls.
// The oracle tests compare them with the kubelet's answers. A Syncer carries
// plans out against small interfaces (Runtime, Cgroups, Volumes, Host).
// Everything it does may be repeated: after a crash at any point, a fresh status
// and another Sync lead to the same result.
//
// The caller owns the order: it calls at most one of Sync, Terminate and
// Cleanup at a time for a pod, each with a status newer than the end of the
// previous one. All of them block on the runtime; Terminate as long as the grace
// period. What a Syncer remembers of a pod is useful and not required.
//
// # Differs from the kubelet in
//
//   - A cancelled Sync or Terminate ends at the next call, pull, hook or stop;
//     the kubelet's go on. So a shorter grace period takes effect immediately. A
//     preStop hook that was begun is not begun again by the next Terminate.
//   - A hook that exceeds its grace period is cancelled when its container has
//     been stopped; the kubelet leaves it running.
//   - If a leftover holds a name, the attempt is raised, of sandboxes and
//     containers; the kubelet fails until the leftover is removed.
//   - StopContainer that times out is repeated immediately without a grace
//     period.
//   - A container that the pod does not name (any more) is stopped as well; the
//     kubelet's termination fails on it for ever.
//   - Cgroup and directories are checked only when something is to be started;
//     a running pod whose cgroup vanished is not killed for it.
//   - An image is queried once per sync and its user taken from the same
//     answer. Pulls are not serialized.
//   - When some containers wait for a back-off and others failed otherwise, the
//     next retry is after 10 s, not after the back-off.
//   - A container restarts on request, which is no crash: it waits for no back-off and
//     does not count in it (RestartRequest).
//   - All containers restart in one sync; the kubelet takes two.
//   - The status of a pod whose start has failed shows why at once, not from the
//     next sync on. What the kubelet learns from the API server comes from the
//     last status and, for an adopted pod, from the runtime.
//   - The resources of the pod as a whole in the status are what it was granted,
//     not read back from its cgroup.
package podsync
