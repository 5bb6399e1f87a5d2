// Package proxy stands between the callers of a runtime and the runtime, ends their gRPC
// connections, and does what rules say with the calls.
//
//	caller ─► gRPC server ─► rules.Set.Decide ─► gRPC client ─► runtime
//	                              │ firings
//	                              ▼
//	                           Options.Fired
//
//	AskRules ─► RulesSocket ─► RulesHandler ─► rules.Set.Apply
//
// Methods that are not of the CRI pass as bytes. Deadlines, cancellation, metadata and
// statuses pass. Each call has a goroutine; Fired is called under the lock of the rules and
// must not block.
package proxy
