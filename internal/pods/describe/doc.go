// Package describe prints all that is known of one pod as a page: what is wrong first, the commands
// to try last. It is pure.
//
//	view.Pod, completed by package why ──► Page
//
// The kubelet has no counterpart: kubectl describe shows the API server's view.
package describe
