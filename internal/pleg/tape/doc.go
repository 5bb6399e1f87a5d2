// Package tape records the answers of a runtime to a PLEG, and replays them to
// another PLEG.
//
// Its one idea: what the PLEG does follows from its input and the times of that
// input, so the answers and events of the runtime, with their times, are all that
// a recording needs. A replay runs them through the loop of a live PLEG.
//
//	runtime ◄── Recorder ◄── pleg.PLEG          a live run
//	               │
//	               ▼
//	      header, call, answer, hint, … end     JSON, one object per line
//	               │
//	               ▼
//	            Reader ──► Play ──► pleg.Stepper ──► events
//
// # What is on a tape
//
// Only what format.go names: ids, names, states, times, exit codes, addresses
// of sandboxes, and the runtime's error texts. What it does not name cannot
// leave the node, because it is not copied: labels, annotations, images, log
// paths, mounts, users, termination messages. Commands, arguments and
// environments are not requested.
//
// # How a replay stays in step
//
// The clock of a replay goes from entry to entry. An entry that says that a
// call began makes the loop do what is due, and that is this call, as it was
// in the live run; one with an answer lets the call return. A live loop acts a
// little later than it might, so a replay waits that little (slack) for the
// tape before it acts on its own.
//
// If the code has changed since, the two differ. A list that the tape has and
// the loop does not make is made nevertheless, so that no change is missed. A
// call that the tape does not have gets the last answer of the tape, which shows
// no change. Report counts both.
//
// # Who owns what, and what may block
//
// A Recorder is called from the goroutines of its PLEG; one mutex keeps its
// lines whole and in order, and is held while a line is written. Play is one
// goroutine, and blocks in its reader and in PlayOptions.Wait only.
//
// The kubelet has no counterpart.
package tape
