// Package plegstat measures a PLEG.
//
//	pleg.Observer ──► Meter ───────┐
//	cri.CallWatcher ► cri.Calls ───┼─► CheckReport, WatchSummary
//	pleg.Runtime ───► StatusReads ─┘
//
// The types with json tags are what `podctl pleg … -o json` prints. Everything
// else is values with fields: the commands make the text.
//
// Meter and StatusReads are written by the goroutines of a PLEG and are
// safe for concurrent use; they hold a mutex for moments and never block.
// WatchStats belongs to one goroutine and reads no clock.
//
// The kubelet has no counterpart beyond its metrics (pkg/kubelet/metrics).
package plegstat
