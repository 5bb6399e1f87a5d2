// Command podctl runs Kubernetes pods on a CRI runtime without a control
// plane, and shows what a node's pods are really doing.
//
//	main.go          exit codes, signals, nothing else
//	app.go           the commands
//	NAME.go          one file a command: options → flags and checks → run → print
//	internal/look    the commands that look inside pods
//	internal/shell   what commands share: streams, global flags, lists, errors
//
// A command's constructor only parses and checks; its run function works on
// an options struct and never sees a flag.
//
// docs/cli.md is made from the commands and the types that they print.
package main

//go:generate go test -run TestReferenceIsCurrent -update .
