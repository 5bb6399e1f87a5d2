// Package node carries out what internal/node/lifecycle decides: it reads what the
// sources desire, claims names, lists the runtime, hands pods to their workers and
// removes what they leave behind.
//
//	sources ──► desired ─┐                    ┌─► ops ──► podsync ──► runtime
//	                     ├─► lifecycle ──► worker                        │
//	runtime listing ─────┘      ▲            ▲ (Sync)                    │
//	                            │            └──────── loop ◄── pleg ◄───┘
//	                        every 2 s
//
// One goroutine, loop, carries out all decisions about which pods there are.
// Operations run in the goroutine of their pod's worker and come back through the
// PLEG's cache. What a pod leaves behind is removed by its last operation, or, if
// it ended while it was still desired, in a goroutine of its own once it is not.
//
// The loop blocks on calls of the runtime that list, read manifests or the
// runtime's status, each with a deadline; queries (Pods) never wait for it.
//
// What owns its own state has a type of its own: podTable (the pods; its mutex is held for
// no call that can block), records (their files), statuses, eventSender, nameLocks,
// hostPorts, devices, allocations (resizes), preemption (room for critical pods), evictor,
// remover, leftoverFinder, cgroupSweep, limitWatcher. Node connects them.
//
// docs/node.md has the phases, the reasons for which a pod waits, and the table of
// all transitions.
//
// Differs from the kubelet in: every pod is exclusive by its full name, not
// only static ones; pods that podctl did not create are left alone; what ended
// is removed at once when it is not desired, not by garbage collection; and a
// pod that the runtime already holds is adopted before anything is created.
package node
