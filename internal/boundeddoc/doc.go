// Package boundeddoc bounds what YAML and JSON documents of others take in memory.
//
//	text ─► CheckDensity ─► nodes ─► Measure: nodes, depth, what aliases stand for
//	JSON ─► CheckJSON: values ─► decoded
//
// A megabyte of aliases stands for terabytes, which a parser that decodes them
// into values builds or writes out. The nodes of a document share what an alias
// stands for, so that they can be measured first.
//
// It owns nothing and does not block.
package boundeddoc
