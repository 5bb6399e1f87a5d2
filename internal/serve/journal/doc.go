// Package journal keeps the events of pods on disk, so that they outlive the
// podctl process that saw them.
//
//	agent, run, agent --observe ─► Writer.Write ─► queue ─► events/journal.jsonl
//	                                                        │ at maxSize
//	                                                        ▼
//	podctl events ◄── Reader ◄──────────────── events/journal.1.jsonl
//
// An entry is one event as a JSON line. All podctl processes of a root directory
// append to one file: each batch is one write under a lock of the file. A file that
// would grow beyond maxSize is renamed, replacing the one before, so that the
// journal never has more than twice that. A write that fails is undone; a line that
// a crash has cut is passed over.
//
// Put never blocks: what the disk does not take in time is dropped and counted, and
// the count is an entry of its own. The goroutine of a Writer may block on the disk
// and on the lock; Close waits for it for a moment only. The files belong to root
// and are mode 0600. Events arrive with the values of Secrets masked.
//
// Differs from the kubelet in: its events go to an API server, which keeps them for
// an hour.
package journal
