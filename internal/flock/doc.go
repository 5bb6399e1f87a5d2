// Package flock takes advisory locks on files, between the goroutines of one
// process and between processes. The kernel releases a lock when its holder
// dies.
//
// Lock files belong in a directory of mode 0700: every user who can open a
// file can lock it. No wait is unbounded: each ends with its context. While it
// lasts, Current names it and Holder the process that it waits for.
package flock
