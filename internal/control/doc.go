// Package control is how one podctl sees into, and speaks to, another: HTTP
// over a unix socket that each podctl which manages pods opens beside its
// locks, and the client that finds all of them.
//
//	podctl run, agent                           podctl pods, terminating, stop …
//	  Host ◄── Handler ◄── Server                  Client ──► Find
//	                         │                        │
//	            <run-dir>/<runtime>/<instance>.sock ◄─┘
//
//	--listen 127.0.0.1:PORT ◄── Public: /metrics, /healthz and /readyz only
//
// The types of the API are in types.go; /pods answers with a v1.PodList as
// the kubelet's does. A socket is its owner's alone (0600, in a directory of
// 0700). One whose podctl was killed is told by that instance's lock, which
// died with it: Find passes it over, and the next Listen removes it.
//
// The server may block only in its own goroutines: a Host answers from
// memory, but for Stop, which waits for the pod. A reader of /events that
// does not read loses events, and is told how many; the node never waits for
// it. No error of the server ends the podctl that it serves.
//
// Differs from the kubelet in: a socket instead of a port with certificates;
// /pods carries a deletion timestamp for a pod that podctl is ending; /workers,
// /events, /stop and /start, which the kubelet does not have, nor /debug; /readyz has a check
// of the PLEG, which the kubelet folds into the node's condition.
package control
