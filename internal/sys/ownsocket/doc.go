// Package ownsocket creates unix sockets, closes them together with their files, and leaves
// alone a file that another process has put at the path.
//
//	Listen, or listen (the caller) ─► Own ─► net.Listener ── Close ─► the file, if it is still ours
//
// Listen waits up to a second for the process that may serve a socket. Differs from the kubelet in: the kubelet removes whatever is at
// the path of a socket before it listens.
package ownsocket
