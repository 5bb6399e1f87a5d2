// Package trace turns the calls that a relay sees into what a person reads: names in place
// of ids, the fields that matter, how long each call took and how it ended.
//
//	relay ─► Tracer.Began, Message, Ended ─► Entry ─► Filter ─► a line, JSON
//	            │   ▲
//	            └─ Names, learned from lists and answers
//
// Everything is pure: a Tracer reads no clock, does no I/O and takes no locks. Messages of
// the CRI are decoded; those of other services and of methods that are not known are not.
package trace
