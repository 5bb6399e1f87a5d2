// Package worker drives each pod through its life: Syncing → Terminating →
// Terminated → Finished. It decides; what is decided is done by Ops. It is
// podctl's pkg/kubelet/pod_workers.go, and docs/worker.md has the phases.
//
// The idea: what an event does to a pod is one pure function,
//
//	Step(State, NameView, now, Event) (State, []Effect)
//
// and all else is a shell that carries effects out.
//
//	Update, Kill, Adopt, …    a caller's goroutine
//	        │
//	        ▼             ┌────────────── Workers.mu ──────────────┐
//	      event ─────────►│ Step ─► new State, effects             │
//	        ▲             │   Start Cancel ─► a goroutine          │──► Ops.Sync,
//	        │             │   Wake ─────────► a timer              │    Terminate,
//	   OpDone, Due ◄──────│   Release ──────► waiters              │    Cleanup
//	                      │   Name ─────────► Names                │
//	                      └────────────────────────────────────────┘
//	                            phase changes, operations ──► Observer, log
//
// Step runs in the caller, under the one mutex that guards all states, so a
// query sees every event that was accepted before it. A goroutine performs one operation,
// of which a pod has at most one at a time, and reports its outcome as an
// event; it decides nothing. A pod that rests has none. Close leaves the pods
// themselves alone.
//
// Nothing here blocks but Ops, in the operation's goroutine, and Close. Observers and
// the log are served after the mutex is released, in order, by the
// caller. A spec that was handed in is shared, and never changed by anyone.
//
// # Invariants
//
// Every random test checks these, and for each there is a mutant of Step that
// breaks it and is caught (mutant_test.go).
//
//   - A phase never goes back. Only a pod that is forgotten is Unknown again.
//   - At most one operation is in flight per pod.
//   - No Sync starts after a stop request.
//   - Terminate never overlaps Sync.
//   - An outdated operation has been told to end: a Sync once there is a stop
//     request, a Terminate that was given more grace than there is now.
//   - Grace, where given, is at least 1 s and never grows once terminating.
//   - Every waiter is released exactly once, and not before the pod is down.
//   - Nothing starts after Finished.
//   - Every pod that is not Finished has an operation running or a wake-up
//     pending, also while it waits for its name.
//   - Two exclusive pods of one full name never run at once: the later Syncs
//     only when the earlier is Finished or forgotten. Whether a pod is
//     exclusive is not to change during its life.
//   - A name is held only by pods that are not Finished.
//   - A pod that is not desired ends and is forgotten, if its operations
//     succeed in the end.
//   - Step changes nothing that it is given.
//
// # Differs from the kubelet in
//
//   - A pod that runs already can be adopted, and a runtime-only pod may hold
//     its full name; the kubelet stops neither correctly when it is static.
//   - SyncKnownPods cancels the running Sync of a pod that is not desired.
//   - A waiter is released also by a pod that is Finished, never started or
//     only known to the runtime, where the kubelet leaks it.
//   - A pod that failed wakes itself up, where the kubelet's sync loop has to
//     send an update; one that waits for its name can be woken by the release.
//   - Errors are told apart by type and not by text.
//   - The context of an operation ends with it, and with Close.
package worker
