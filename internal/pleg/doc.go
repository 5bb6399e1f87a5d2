// Package pleg is the pod lifecycle event generator: it turns what the
// runtime lists into events, and into a cache of pod statuses that never passes
// a stale status as fresh.
//
// Its one idea: relisting is the truth, and a runtime's own events are hints.
// A hint makes the loop relist that one pod now, unless the newest listing already shows
// the state that it tells of; nothing else of its content is used. So
// there is one writer, one order and one clock. The kubelet's evented PLEG, which had
// two writers, asks for relists as well since 1.37 (pkg/kubelet/pleg/evented.go).
//
//	       every period          hint, or GetNewerThan
//	            │                          │
//	            ▼                          ▼
//	        ListPods                 ListPod(uid)          (each in its own goroutine)
//	            └───────────┬──────────────┘
//	                        ▼
//	   Diff(record, listing) = nothing ──► the cached status is as new as the listing
//	                        │ changed, or to be reinspected
//	                        ▼
//	                    PodStatus                          (parallel, bounded, with a deadline)
//	               ok ┌─────┴─────┐ error
//	                  ▼           ▼
//	cache, then events,        the error is cached, the record stays,
//	the record advances        the pod is read again at its next relist
//
// # Who owns what, and what may block
//
// The goroutine of Run owns the records and decides; it never makes a call
// and never waits for one, so a runtime that hangs on one pod delays that pod
// only. Calls run in goroutines of their own, which post their answer back to
// the loop. The cache, the inbox and the subscriptions have a mutex each
// and hold it for moments; only GetNewerThan blocks, on its context.
//
// # Why stale never passes as fresh
//
// Every list call takes a stamp when it starts: a time and a number that only
// grows. A status is as new as the listing that it was read from, not as the
// moment it was read. Listings of one pod are applied in the order in which they
// started, and one that was overtaken is discarded.
//
// A full relist advances the global time, which applies to each pod that it found
// unchanged. A pod that it found changed is marked unread *before* the global
// time advances, and until its status was read (or failed to be) only its own
// stamp counts. A status read that passes its deadline becomes the pod's
// cached error, and its late answer is discarded.
//
// A relist of one pod that finds it unchanged advances that pod's time with no
// status call. This is the kubelet's rule for its on-demand relists
// (relistPod, then SetObservedTime), and it is as correct as the full relist,
// which treats unchanged pods in the same way: states only move forward
// (created, running, exited) and containers have ids that are never used
// again, so a listing that equals the record shows that there was no transition.
// What may change without a transition (resources after an in-place
// resize, a reason that the runtime adds to a container that had died already)
// is re-read on RequestReinspect, here as in the kubelet.
//
// # Hints
//
// The period grows from Period to HintedPeriod only while hints are proven: the
// stream is open, the runtime is known to broadcast, a full relist has caught up
// since it opened, and the last changes had all been hinted. One change that
// was not, or the end of the stream, brings Period back at once. An event created before
// the stream opened makes its pod be relisted like any other but does not count.
//
// # Differs from the kubelet in
//
//   - hints are used, as by the evented PLEG of the kubelet 1.37, which is off by default:
//     its events, too, only ask for a relist
//   - a full relist and relists of single pods run side by side; statuses are
//     read in parallel, and one that hangs delays no other pod
//   - an on-demand relist of a pod that is absent records "absent as of T" and
//     yields its events; the kubelet leaves that to the next full relist
//   - a pod that was flagged for reinspection is read again within Period even
//     while the full relist is slow
//   - GetNewerThan takes a context, and asks for the relist itself
//   - no event is ever dropped: a subscriber that is slow has those of one pod
//     merged into one
//   - a pod that vanishes while its first status is being read yields all its
//     events, with no status
//   - a status call that hangs for longer than the threshold is unhealthy by
//     itself; the kubelet notices it because its relist hangs with it
package pleg
