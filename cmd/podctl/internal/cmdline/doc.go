// Package cmdline is what urfave/cli lacks: kubectl's order of flags and
// arguments, suggestions, and help that fits a terminal.
//
//	os.Args ─► Reorder (flags before arguments) ─► urfave/cli ─► command
//	unknown name ─► ForeignCommands, ForeignFlag ─► hint
//
// Everything is pure but the help printer, which urfave/cli calls. The variables of
// urfave/cli are set once, before main: apps may run at the same time.
package cmdline
