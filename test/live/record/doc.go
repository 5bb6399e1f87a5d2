// Package record is a proxy in front of a CRI socket that records every call and
// changes none, unless a test asks it to fail or delay some.
//
//	client ──► unix socket of ours ──► method, start, end, error ──► runtime
//
// Messages pass as bytes, so that it costs next to nothing and knows no method
// by name: what a later CRI adds passes too. A call is recorded when it has ended.
package record
