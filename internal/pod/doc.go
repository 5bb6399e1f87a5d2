// Package pod is podctl's vocabulary: what the runtime
// reports about a pod, and the small facts that every other package needs.
//
//	manifest ──► *v1.Pod          what should run (k8s.io/api, not ours)
//	runtime  ──► Pod              what a listing shows: ids and states
//	         ──► Status           what the status calls add: times, exit codes, IPs
//
// Everything here is a value or a pure function. A *Pod or *Status is
// immutable once it has been returned; a change is a new value.
//
// It imports nothing of this module, and nothing here blocks.
package pod
