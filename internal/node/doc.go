// Package node is the only place where it all meets: sources say what is
// desired, workers decide when, podsync knows what, the PLEG reports, and
// housekeeping compares all of it every two seconds.
//
//	sources ──► desired ─┐                 ┌─► ops ──► podsync ──► runtime
//	                     ├─► reconcile ──► worker                    │
//	runtime listing ─────┘      ▲          ▲ (Sync)                  │
//	                            │          └──── loop ◄── pleg ◄─────┘
//	                        every 2 s
//
// One goroutine, loop, takes all decisions about which pods there are:
// nothing else creates, adopts or removes an entry. Operations run in the
// goroutine of their pod's worker and come back through the PLEG's cache.
// What a pod leaves behind is removed by its last operation, or, if it ended
// while it was still desired, in a goroutine of its own once it is not.
//
// The loop blocks on a listing of the runtime at most; queries (Pods) never
// wait for it. Node's mutex guards the entries and is held for no call that
// can block.
//
// Differs from the kubelet in: every pod is exclusive by its full name, not
// only static ones; pods that podctl did not create are left alone; what ended
// is removed at once when it is not desired, not by garbage collection; and a
// pod that the runtime already holds is adopted before anything is created.
package node
