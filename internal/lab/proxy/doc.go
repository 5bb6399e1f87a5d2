// Package proxy is a gRPC proxy between a CRI runtime and its callers. It terminates their
// connections, and injects faults into the calls as rules say.
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
