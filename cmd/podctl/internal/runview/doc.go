// Package runview shows a run of pods, for `podctl run` and `podctl agent`: a
// line per event, a live table, JSON or YAML; what containers write; and at the
// end why pods failed.
//
//	events ──────────► run ─┬─► Printer: lines │ table │ JSON │ YAML ─► Screen
//	node.Info ──────────────┤        ▲
//	                        ├─► LogFollowers
//	                        └─► Failures ─► Verdict
//
// The texts of events, waiting containers and ended pods are made here, of typed
// facts, and nowhere else. A Printer is used by one goroutine, but for Log.
// Nothing blocks but the Screen's writer.
package runview
