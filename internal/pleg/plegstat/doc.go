// Package plegstat measures a PLEG and compares two of them.
//
//	pleg.Observer ──► Meter ───────┐
//	cri.CallWatcher ► cri.Calls ───┼─► CheckReport, WatchSummary
//	pleg.Runtime ───► StatusReads ─┘
//
//	events of two PLEGs ─► Comparison ─► Transition, CompareSummary
//
// The types with json tags are what `podctl pleg … -o json` prints. Everything
// else is values with fields: the commands make the text.
//
// Meter and StatusReads are written by the goroutines of a PLEG and are
// safe for concurrent use; they hold a mutex for moments and never block.
// Comparison and WatchStats belong to one goroutine and read no clock.
//
// The kubelet has no counterpart beyond its metrics (pkg/kubelet/metrics).
package plegstat
