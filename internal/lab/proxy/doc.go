// Package proxy stands between the callers of a runtime and the runtime, ends their gRPC
// connections, and has the calls go wrong as rules say.
//
//	caller ─► gRPC server ─► inject.Injector ─► gRPC client ─► runtime
//	                              │ firings
//	                              ▼
//	                           Options.Fired
//
//	AskRules ─► RulesSocket ─► RulesHandler ─► Injector.Change
//
// Methods that are not of the CRI, and what no rule changes, pass as bytes. Deadlines, cancellation, metadata and
// statuses pass. Each call has a goroutine; Fired is called under the lock of the rules and
// must not block.
package proxy
