// Package diagnose finds the layer for which a terminating pod waits.
//
//	runtime status ───┐
//	control.Worker ───┤
//	/proc, cgroups ───┼─► Facts ──► Judge ──► Verdict: layer, confidence, why, next commands
//	mount tables ─────┤
//	kubelet's pods ───┘
//
// Collector does the reading: it blocks on the runtime for at most two seconds
// per container, and on files. Judge is pure.
//
// What cannot be seen is unknown, not gone: a PID that the runtime reports is
// looked up only if the runtime shares podctl's PID namespace. A Verdict
// repeats what was observed, and every command in it works for the owner of the
// pod: podctl removes no pod of a kubelet.
//
// The kubelet has no counterpart: it logs errors and retries.
package diagnose
