// Package attach puts a socket in the place of a runtime's, and takes it away again, while
// callers use it.
//
//	Examine ─► Create ─► Place: rename(exchange) ─► Redirect: GOAWAY to open connections
//	                       │                                  │
//	                 Watch: is it undone by others?           ▼
//	                       └──────► Swap.Undo: rename(exchange), unlink ◄── Watchdog, in a process
//	                                                                     of its own, if this one dies
//
// The runtime's socket keeps its inode, under a name beside its own, and is reached through
// a descriptor, so that no name decides where a call goes. Nothing is renamed or unlinked
// unless the inodes at both names are the ones that were examined. Linux only.
package attach
