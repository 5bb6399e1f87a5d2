// Package daemon runs a node: what every podctl does that manages pods, be it
// a run in the foreground or an agent.
//
//	Options ─► Open ─► Session ─┬─ node.Node on a connected runtime
//	                            ├─ control socket, and with Listen a port: pods, events, metrics, health
//	                            └─ closed in reverse order by Close
//	agent only: Session.RunHousekeeping (garbage collection, log rotation), Manager (sd_notify)
//
// The Session owns the connection, the locks, the cgroups and the servers.
// Open blocks for as long as the runtime takes to answer. The servers run in
// goroutines of their own and answer from memory.
//
// It differs from the kubelet in this: a podctl that cannot have its control
// socket runs its pods without it, because no pod depends on it.
package daemon
