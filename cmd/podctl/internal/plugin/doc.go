// Package plugin makes podctl a plugin of kubectl: every command runs on nodes of a
// cluster, in the inspector pod of each.
//
//	command line ─► Take: the plugin's flags │ the command's own
//	                      │                       │
//	                 nodes, pods             forms: listing, page, text, …
//	                      └──────────┬────────────┘
//	          one node, text or -it: stream   else: fan out ─► answers ─► merge ─► output.List
//
// A command that prints a list is run with -o cells, and printed here as the local command
// prints it, with the column NODE; the archives of a command that writes one become one; any
// other command is printed with its node before each line. So the
// versions of podctl here and there may differ. Manifests are read here, and sent to each node
// as the standard input of the command.
//
// What a node prints is bounded in size (buffer.go), escaped by the writers of output, and
// cannot name another node. A fan-out blocks until each node has answered, the time for it
// has passed, or an interrupt; then what is there is printed.
package plugin
