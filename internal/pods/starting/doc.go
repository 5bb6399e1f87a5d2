// Package starting finds the step in which a pod that should run is, and the layer for which
// it waits.
//
//	describe.Facts ─────────────┐
//	processes of the runtime ───┤
//	paths of its volumes ───────┼─► Facts ──► Judge ──► Verdict: step, layer, evidence, next commands
//	pulls in flight ────────────┤
//	log of its kubelet ─────────┘
//
// It mirrors package diagnose, whose layers and confidences it shares. Collector does the
// reading, each part within a bound of time and size. Judge is pure: one table of rules
// (docs/stuck-starting.md), of which the first that matches decides.
//
// A layer is named on evidence only. Where none shows, the verdict says so, and what was
// looked at. Texts of others are classified in one place (cause.go), because runtimes send
// nothing else.
//
// The kubelet has no counterpart: it logs errors and retries.
package starting
