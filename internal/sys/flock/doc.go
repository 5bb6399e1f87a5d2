// Package flock takes advisory locks on files, between the goroutines of one
// process and between processes. The kernel releases a lock when its holder
// dies.
//
// Every user who can open a file or a directory can lock it: lock files have mode
// 0600, and LockDir locks one where others can read the directory. No wait is unbounded:
// each ends with its context. While it lasts, Current names it.
package flock
