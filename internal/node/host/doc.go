// Package host knows the machine that podctl runs on: its facts, and where on
// it podctl keeps its files.
//
//	/proc, /sys, /etc/resolv.conf ─► ReadFacts ─► render.Node
//	flags, or the defaults ─► Paths: pod directories, logs, locks of one runtime
//
// The functions read small files and block no longer than that takes. Nothing
// is cached; Resolver.Read is called again for every pod, because resolv.conf
// changes.
//
// It differs from the kubelet in this: the facts come from the machine alone,
// never from a Node object.
package host
