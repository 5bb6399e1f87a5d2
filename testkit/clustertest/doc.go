// Package clustertest is an API server in memory for tests and benchmarks: nodes, the
// inspector pods on them, and commands run in these. The program does not import it.
//
//	Start(Options) ─► Server ─┬─ GET nodes, pods: in pages
//	                          └─ exec: WebSocket v5 ─► Node.Run
//
// It listens on 127.0.0.1 with TLS and asks for the token of its kubeconfig.
package clustertest
