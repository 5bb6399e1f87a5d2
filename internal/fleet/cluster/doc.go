// Package cluster asks the API server of a kubeconfig for nodes and pods, and runs commands
// in containers through it.
//
//	kubeconfig ─► Open ─► Client ─┬─► Nodes, Inspectors: lists in pages
//	                              └─► Exec: WebSocket ─► node
//
// The credentials, certificates and proxies are client-go's. Of a node, nothing is trusted:
// the report of the result is bounded, the caller's writers bound the output, and a
// connection that ends before the result is ErrLost, never success. Redirects are refused:
// they would carry the credentials to another server.
//
// The WebSocket protocol is read here rather than by client-go's executor, which keeps a
// report of any size, and takes a connection that ends without a report for success.
//
// Every call blocks until it is done or its context ends, even while a credential plugin or
// a server hangs; what hangs then ends in the background.
//
// Differs from the kubelet in: nothing here is a part of it.
package cluster
