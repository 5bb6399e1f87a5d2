// Package shell is what all commands share: the door to the world, the global
// flags, lists, errors and exit codes.
//
//	os.Args ─► ReadGlobals ─► Globals ─┐
//	           ReadList ─► ListOptions ┼─► a command ─► error ─► PrintError, ExitCode
//	streams, clock, signals ─► Env ────┘
//
// Env is a command's only access to streams, the clock, interrupts and control
// sockets, so that tests replace them. All of the output policy is in fail.go:
// errors go to stderr as `podctl: verb: cause`, without capitals and full stop,
// with a `hint:` line that holds what to type next; stdout is data only.
//
// Connecting and listing block, no longer than --timeout allows; everything ends
// at the first interrupt.
package shell
