// Package lifecycle decides which pods a node has and what becomes of each: a
// pure state machine. The node reads the sources, the locks and the runtime,
// passes what it found as events, and carries out the actions that come back.
//
//	             Claim          Begin    ┌─┐ a manifest that changes in place
//	┌► Waiting ────────► Starting ────► Active
//	│    ▲  └── Defer ─────┘ │            │ Undesire, a changed manifest,
//	│    │                   ▼            ▼ podctl start
//	│    └─ (new manifest, Rejected    Stopping ──► Removed ─┐
//	│        podctl start)               │   ▲ Cleaned       │
//	│                           Forgotten▼   │ (error)       │ Forgotten
//	│                                  Removing              │
//	└────────── desired again ───────────┴───────────────────┘──► gone
//
// Reconcile compares what is desired with the entries, once for all of them;
// Step is what one event does to one entry. Classify sorts out what the runtime
// holds, and DecideStart how a pod starts. docs/node.md has the whole table.
//
// Nothing here blocks, logs or reads a clock; an Entry holds no channel, func,
// mutex or context, so it can be printed, compared and replayed.
//
// Differs from the kubelet in: every pod is exclusive by its full name; a pod
// that cannot start for a reason that may end waits and is retried, and only what
// the kubelet's admission rejects has failed; what ended is removed as soon as it
// is not desired.
package lifecycle
