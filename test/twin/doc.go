// Package twin gives the same random pods to a kubelet and to podctl, each on a simulated
// runtime of its own, and compares what the two did: every call that changes something with
// every field of its request, when it came, the statuses and the events. See docs/twin.md.
//
//	seed ─► Plan ─► kubelet ─► podctl sim ─┐ calls, statuses, events ─► Lives ─┐
//	          └───► podctl  ─► podctl sim ─┘                                   ├─► differences
//	                                                                  rows ────┘
//
// A decision is judged from the times that led to it, not from the start of the pod: a
// restart from the exit before it, a stop from what asked for it.
package twin
