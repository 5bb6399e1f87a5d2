// Package control serves and calls the API of a podctl process: HTTP over a unix socket,
// which each podctl process that manages pods opens beside its locks, and a client that
// finds these sockets.
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
// 0700). The lock of an instance that was killed is released, so its socket counts as
// stale: Find skips it, and the next Listen removes it.
//
// The server may block only in its own goroutines: a Host answers from
// memory, except Stop, which waits for the pod. A slow reader of /events loses
// events, and the next one says how many; the node never waits for it. No error of the
// server ends the podctl process that it serves.
//
// Differs from the kubelet in: a socket instead of a port with certificates; /pods has a
// deletion timestamp for each terminating pod; the kubelet has no /workers, /events, /stop,
// /start and /debug; /readyz checks the PLEG, which is a condition of the kubelet's node.
package control
