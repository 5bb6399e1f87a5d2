// Package pod is podctl's vocabulary: what a pod is in the eyes of the
// runtime, and the small facts about a pod that every other package needs.
//
//	manifest ──► *v1.Pod          what should run (k8s.io/api, not ours)
//	runtime  ──► Pod              what a listing shows: ids and states
//	         ──► Status           what the status calls add: times, exit codes, IPs
//
// Everything here is a value or a pure function. A *Pod or *Status that was
// handed out is never changed again; who wants another one makes another one.
//
// It imports nothing of this module, and nothing here blocks.
package pod
