// Package tracing traces the calls of a runtime while they pass.
//
//	callers ─► Frontend ─► relay.Relay ─► runtime
//	                            │ copy
//	                            ▼
//	                         session ─► trace.Tracer ─► Printer
//
// A Frontend is a socket of the trace's own, or the runtime's (package attach). The trace ends with the command that it
// runs, an interrupt, a time, an error of the output, or a failure of the frontend.
package tracing
