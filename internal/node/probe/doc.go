// Package probe runs the startup, liveness and readiness probes of containers.
//
//	            every period                               by container id
//	pod status ─────────────► State.Next ─► ask ─► State.WithResult ─► Results ─► podsync
//	            (or hurried)      │     (handler)      │
//	                              ▼                    ▼
//	                     wait, on hold, done      thresholds ─► Changed, events
//
// State is the pure core: the state of one probe of one container, whether it
// is due (Next), and what a result means (WithResult). Around it is a goroutine
// per container and probe, which owns its State and blocks in a probe only, at
// most for its timeout, three times. A Manager holds the results under one
// mutex, which is held for no call out of the package: Changed and Events are
// called by those goroutines, and must not block.
//
// What is known of a container comes from the pod's status as the node holds
// it: a probe that is not due costs no call of the runtime.
//
// It answers to pkg/kubelet/prober.
//
// # Differs from the kubelet in
//
//   - A kubelet that has just started delays every probe by a random part of its
//     period. Here only the probes of adopted pods are delayed, because `podctl
//     run` has always just started.
//   - Probes that are stopped are cancelled, in the runtime too.
//   - A container that is created and not started has no failed result.
//   - A goroutine ends with its pod, not with its container's last run.
package probe
