// Package stream runs commands in containers, attaches to containers and
// forwards ports, over the URLs that a CRI runtime returns for Exec, Attach and
// PortForward.
//
//	URL of the runtime ─► checkURL ─► connect ─► SPDY connection
//	                                                  │
//	      Run: stdin, stdout, stderr, resize, error ──┤
//	Forwarder: listeners ─► data, error per client ───┘
//
//	terminal ─► Sizes ─► Run          keys ─► detach keys ─► Run ─► ErrDetached
//
// The runtime's answer is not trusted: the URL must lead to this host, the
// handshake has a deadline and a size limit, and the end of a context ends
// everything within a second, whether or not the runtime answers. A connection
// that ends before the runtime has reported the result is ErrLost, never
// success.
//
// SPDY is the only transport. The WebSocket servers of containerd 1.6 to 2.4 and
// CRI-O 1.34 speak channel protocol v4 at most, which cannot close the input of a
// command (`exec -i … -- cat` would never end), and a URL is valid for one
// request, so that there is nothing to fall back to.
//
// Run and Forwarder.Serve block until their work or their context ends. ParsePort,
// ParseKeys and checkURL are pure.
//
// # Differs from the kubelet in
//
// (pkg/kubelet/server, k8s.io/client-go/tools/portforward.) Each forwarded
// connection has a SPDY connection of its own: SPDY as the runtimes serve it has
// no flow control per stream, so that one client that does not read would stop
// all others.
package stream
