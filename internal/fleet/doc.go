// Package fleet holds the decisions of a command that runs on many nodes: on which pod of
// each node it runs, how the answers become one, and the exit code of the whole.
//
//	nodes, inspector pods ─► Targets ─► a pod or a Failure per node
//	                                        │ (exec, elsewhere)
//	answers ─► MergeHeaders, WithNode, Prefix ─► one answer
//	        └► Worst ─► exit code
//
// Everything here is pure: values in, values out. The answer of a node is not trusted: a
// node can neither speak for another one nor leave its own line.
//
// Differs from the kubelet in: nothing here is a part of it.
package fleet
