// Package unixdiag lists the unix sockets of a network namespace with both ends of each
// connection, which /proc/net/unix does not have.
//
//	sock_diag (netlink) ─► List ─► name, inode, inode of the peer
//
// Linux only. Nothing blocks for long.
package unixdiag
