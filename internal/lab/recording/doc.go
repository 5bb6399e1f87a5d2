// Package recording records the answers of a CRI runtime in a file, and serves the file as a
// runtime that only reads.
//
//	runtime ◄── Recorder ──► Writer ──► header, answers, end      JSON lines in gzip
//	   cutter: nothing large, Mask: no secrets      │
//	                                                ▼
//	                                              Read ──► Recording ──► Server: a CRI endpoint
//
// A report of podctl report is an archive with a recording and pages for a person; Read reads
// both.
//
// # What is in a recording
//
// The first line is the Header. After it each line is an answer of the runtime to a call that
// only reads, or an error in its place, as protobuf JSON with the names of the CRI, so that it
// can be read for as long as the CRI is known; fields that a reader does not know are skipped. Of
// two answers to the same question the later one holds. The last line says how many there are.
// Lists are recorded without a filter, and statuses verbosely: a Server answers calls with a
// filter, or without the verbose part, from these. Then come what the owners of the pods
// answered, and files of /proc and of cgroups.
//
// Nothing is written before all is known: a secret that one answer names may stand in an
// earlier one.
//
// # What is not in a recording
//
// Calls that change something, streams of containers, logs, environments of processes. A Server
// answers what it does not have with Unimplemented and "not recorded", never with NotFound: what
// was not recorded is unknown, not gone.
//
// # Who owns what, and what may block
//
// A Writer is safe for concurrent use. A Recorder blocks on the runtime, with the deadlines of
// package cri; its memory is bounded by what is cut of objects, and lines wait compressed. Read
// reads a file that may be hostile: lines, their number, their objects and the whole are bounded
// before anything is decoded.
package recording
