// Package relay passes the bytes of gRPC connections between a unix socket and a runtime,
// and decodes a copy of them beside the path.
//
//	caller ──bytes──► Relay ──bytes──► runtime
//	                    │ a copy
//	                    ▼
//	                  queue ─► decoder (HTTP/2, HPACK, gRPC messages) ─► Observer
//
// Nothing on the path waits for the decoder: deadlines, cancellation, metadata, flow
// control and unknown methods pass because bytes do. A copy that the decoder does not
// reach, and bytes that it does not understand, are reported as missed; the bytes go on.
//
// Each connection has a goroutine for each direction, which may block on its peers, and
// one for the decoder, in which the Observer is called and may block, too: then copies
// are dropped.
package relay
