// Package rules decides which faults are injected into CRI calls: a Rule matches calls, and has an
// act, the fault.
//
//	text ── Parse, ParseFile ──► Rule ─┐
//	Call, time since the start ────────┴─► Set.Decide ──► the rules that fire
//	Change ──────────────────────────────► Set.Apply      Edit ──► the answer, changed
//
// Everything is pure: the same rules, seeds, calls and times have the same outcome. The
// package does no I/O and takes no locks; a Set is of one goroutine at a time.
package rules
