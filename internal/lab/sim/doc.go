// Package sim is a CRI runtime in memory behind a real gRPC server: what the
// tests of podctl run on, and what "-r sim:" and "podctl sim" serve.
//
//	Dial (bufconn) ─┐                     ┌─ rules: delay, hang, fail ─┐
//	Serve(listener) ┴► gRPC ─► interceptor┤                            ├─► verb ─► state
//	                                      └─ record of calls ──────────┘            │
//	      GetContainerEvents ◄── subscribers ◄── event of every change ◄────────────┘
//
//	CreateContainer      StartContainer      exits, or is killed     RemoveContainer
//	  Created ──────────────► Running ──────────────► Exited ─────────────► gone
//
// It answers as containerd 2.4.2 does: its error codes and texts, reserved
// names, idempotence, states, reasons, exit codes and events. A container's
// process is a goroutine (process.go) that runs what Script says for it, or
// else its command, by a small interpreter of shell (shell*.go); a command
// that the interpreter does not know runs until it is stopped. So does a script that it
// does not support, and its log says what that is. A process that
// is the first of its own pid namespace ignores a signal it has no trap for,
// as the kernel has it: "sleep 3600" needs the SIGKILL at the end of its grace
// period.
//
// All state is under one mutex, which is never held while anything waits.
// Nothing waits but by channels and timers, so that in a testing/synctest
// bubble a grace period of 30 s takes no time; make the Runtime inside of the
// bubble, reach it by Dial, and Close it before the bubble ends. Ids are the
// same in every run, and timestamps never equal.
//
// # Differs from containerd in
//
// Calls take no time of their own. An event's subscriber has a long queue and is
// ended when that is full, where containerd stops its own work when one is 100
// events behind. There are no checkpoints. A pod listens at ports that ServePort opens, for
// port-forward alone, or really, see SetLoopback. Files of mounts are read from the host, and written in memory
// (rootfs.go); of the kernel there is what linux.go knows.
package sim
