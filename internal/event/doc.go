// Package event holds the facts that podctl reports about a pod, as values
// with fields: what failed and in which layer. Texts are made from them where
// they are printed, and nothing parses a text to find a fact again.
//
//	podsync, node ──► Failure ──► worker ──► control (JSON) ──► the commands
//
// The package imports nothing of this module and holds no state. Nothing in it
// blocks.
//
// Differs from the kubelet in: the kubelet's events carry a reason and a
// message only, and its operations return plain errors.
package event
