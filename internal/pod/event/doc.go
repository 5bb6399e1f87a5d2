// Package event holds the facts that podctl reports about a pod, as values with fields:
// what happened, why a container waits or ended, what failed and in which layer. Text
// formats them when they are printed; no text is parsed back into facts.
//
//	podsync, probe, node ──► Event ──┬──► run, agent: lines, table, JSON
//	                                 └──► control: /events as JSON
//	operations ──► Failure ──► worker ──► control: /workers as JSON
//
// An Event has a reason, the kubelet's where it has one, the kubelet's message
// where that has one, and the facts that belong to its reason. The package
// imports nothing of this module, holds no state, and nothing in it blocks.
//
// Differs from the kubelet in: the kubelet's events carry a reason and a
// message only, and its operations return plain errors.
package event
