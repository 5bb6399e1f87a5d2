// Command podctl runs Kubernetes pods on a CRI runtime without a control
// plane, and shows what a node's pods are really doing.
//
//	main.go     exit codes, signals, nothing else
//	app.go      the commands and the global flags
//	env.go      the only door to the world: streams, clock, runtime
//	NAME.go     one file a command: options → flags and checks → run → print
//
// A command's constructor only parses and checks; its run function works on
// an options struct and never sees a flag. All of the output policy is in
// fail.go: errors go to stderr as `podctl: verb: cause`, no capitals, no
// full stop, with a `hint:` line that holds what to type next; stdout is
// data only.
//
// docs/cli.md is made from the commands and the types that they print.
package main

//go:generate go test -run TestReferenceIsCurrent -update .
