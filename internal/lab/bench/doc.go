// Package bench measures a runtime by pods of its own: with the calls that they need and
// no other, the limit of what any client can reach.
//
//	for each number of pods, each round, each subject in turn:
//
//	RunPodSandbox ─► CreateContainer ─► StartContainer     all pods at once
//	      └─► lists, statuses ─► ExecSync                  while they run
//	              └─► StopContainer ─► its event           some, one after the other
//	                      └─► StopPodSandbox ─► RemovePodSandbox
//
// A subject is a runtime, or one handler of it. Times of calls are those that the client
// observes (cri.Observer). Series is pure; a PodMaker makes, removes and sweeps pods, and an
// Exits records when their containers exit. Every sandbox carries Label with the mark of its
// PodMaker: nothing else is ever stopped or removed.
package bench
