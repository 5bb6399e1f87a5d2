// Package ownsocket closes a unix socket together with its file, and leaves alone a
// file that another process has put at the path since.
//
//	listen (the caller) ─► Own ─► net.Listener ── Close ─► the file, if it is still ours
//
// Nothing blocks. Differs from the kubelet in: the kubelet removes whatever is at
// the path of a socket before it listens.
package ownsocket
