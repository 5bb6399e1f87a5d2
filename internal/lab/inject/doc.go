// Package inject has calls of a gRPC server of the CRI go wrong as rules say: those of a proxy,
// and those of the simulated runtime.
//
//	caller ─► Unary, Stream ─► rules.Set.Decide ─► delay, hang, error ─► handler ─► answer, changed
//
// Each call has a goroutine. Options.Fired must not block.
package inject
