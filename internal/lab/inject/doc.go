// Package inject applies the rules of package rules to the calls of a CRI server, as gRPC
// interceptors. Its servers are the proxy and the simulated runtime.
//
//	caller ─► Unary, Stream ─► rules.Set.Decide ─► delay, hang, error ─► handler ─► answer, changed
//
// Each call has a goroutine. Options.Fired must not block.
package inject
