// Command podctl runs Kubernetes pods on a CRI runtime without a control
// plane, and shows what a node's pods are really doing.
//
//	main.go             exit codes, signals, nothing else
//	app.go              the sections of the help, and what all commands share
//	internal/run …      a package for each section; one file a command: options → flags and checks → run → print
//	internal/shell      what commands share: streams, global flags, lists, errors
//	internal/cmdline    what describes a command, and what derives from it: usage, completion, help
//	internal/output     the formats of -o
//
// A command's constructor only parses and checks; its run function works on
// an options struct and never sees a flag. The tests here run the whole program.
//
// docs/cli.md is made from the commands and the types that they print.
package main

//go:generate go test -run TestReferenceIsCurrent -update .
