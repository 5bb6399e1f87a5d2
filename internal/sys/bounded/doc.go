// Package bounded reads what a container, another user of the host or another program
// can write, and bounds what that takes.
//
// A file: nothing but regular files is opened, not even for a moment, and no more is read
// than the caller's bound:
//
//	O_PATH ─► fstat: regular? ─► reopen by descriptor ─► read at most max
//
// Opening a device can have effects, and a FIFO can block; a file in a volume may be
// exchanged for either between a check by name and the open. A sparse file of a terabyte
// costs its writer nothing and the reader all its memory.
//
// A document of YAML or JSON: what it takes in memory once it is decoded.
//
//	text ─► CheckDensity ─► nodes ─► Measure: nodes, depth, what aliases stand for
//	JSON ─► CheckJSON: values ─► decoded
//
// A megabyte of aliases stands for terabytes, which a parser that decodes them into values
// builds or writes out. The nodes of a document share what an alias stands for, so that
// they can be measured first.
//
// It owns nothing and may block on the disk.
package bounded
