// Package inspect masks and compares what a runtime answers about sandboxes and
// containers.
//
//	answer of the runtime, as encoding/json reads it ─► Mask ─► the same without secrets
//	answers about two attempts ─► Diff ─► the paths whose values differ
//
// Everything is pure.
package inspect
