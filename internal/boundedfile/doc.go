// Package boundedfile reads files that a container, or another user of the
// host, can write or replace. It opens nothing but regular files, not even for
// a moment, and reads no more than the caller's bound:
//
//	O_PATH ─► fstat: regular? ─► reopen by descriptor ─► read at most max
//
// Opening a device can have effects, and a FIFO can block; a file in a volume
// may be exchanged for either between a check by name and the open. A sparse
// file of a terabyte costs its writer nothing and the reader all its memory.
//
// It owns nothing and may block on the disk.
package boundedfile
