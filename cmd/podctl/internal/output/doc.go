// Package output writes what the commands print: tables, lists in the formats
// that kubectl has, JSON and short texts.
//
//	rows ─► Table ───────────────┐
//	List ─► Format ──────────────┼─► Writer (escapes control characters) ─► terminal
//	text ────────────────────────┘
//
// Everything that a runtime, a container or a manifest can name passes Writer,
// and what must stay on one line passes OneLine. Data formats carry values
// unchanged: JSON escapes control characters in its own way.
//
// Nothing here blocks but the writer that it is given.
package output
