// Package tape records the answers of a CRI runtime in a file, and serves the file as a
// runtime that only reads.
//
//	runtime ◄── Recorder ──► Writer ──► header, answers, end      JSON lines in gzip
//	relay ────► Observer ──►    ▲                   │
//	   cutter: nothing large, Mask: no secrets      ▼
//	                                              Read ──► Tape ──► Server: a CRI endpoint
//
// Its one idea: an answer holds until the next answer to the same question. So a tape has only
// answers that differ from the one before, and can be asked as of any time that it spans.
//
// # What is on a tape
//
// The first line is the Header. After it each line is an answer of the runtime to a call that
// only reads, or an error in its place, as protobuf JSON with the names of the CRI, so that it
// can be read for as long as the CRI is known; fields that a reader does not know are skipped.
// The last line says how many there are. Lists are recorded without a filter, and statuses
// verbosely: a Server answers calls with a filter, or without the verbose part, from these. Then
// come what the owners of the pods answered, and files of /proc and of cgroups, all of the time
// of the last answer.
//
// Nothing is written before all is known: a secret that one answer names may stand in an
// earlier one.
//
// # What is not on a tape
//
// Calls that change something, streams of containers, logs, environments of processes. A Server answers what it does not have with Unimplemented and
// "not recorded", never with NotFound: what was not recorded is unknown, not gone.
//
// # Who owns what, and what may block
//
// A Writer is safe for concurrent use. A Recorder blocks on the runtime, with the deadlines of
// package cri; its memory is bounded by what is cut of objects, and lines wait compressed. Read reads a file that may be hostile: lines, their number, their objects and
// the whole are bounded before anything is decoded.
package tape
