// Package services lets the pods of one machine find each other: it decides what kube-proxy, the
// endpoint controller and the cluster's DNS would, and carries that out with nftables and a DNS
// server.
//
//	Services, EndpointSlices ──► Allocator ──► addresses
//	pods with their status  ─┐      │
//	                         └──► Build ──► Table ──► Rules ──► one transaction of nft
//	                                          └─────► Zone  ──► DNS server ──► the node's resolvers
//
// Build and Zone are pure; Allocator and Rules keep state, and do no I/O. Each process has a Manager: it
// gives the node the addresses, and publishes its Services and pods in a file. The process that has bound
// port 53 of DNSAddress serves for the whole network namespace. The kernel releases the port when that
// process exits; the others try again each second.
//
// The process that serves owns the nftables table TableName and DNSAddress on the loopback
// interface; what a killed one has left there is replaced by the next, or removed by Remove. The
// file of another process counts also after its exit, while its pods run.
// Nothing else of the machine's network is changed.
//
// Manager, Host and Server block. Differs from Kubernetes in: one machine and IPv4; the address is a
// hash of the Service's name; endpoints are computed from the pods' status at once instead of
// being stored; a pod's connection to a Service is masqueraded if bridges do not pass packets to
// netfilter (net.bridge.bridge-nf-call-iptables), because its answer would else bypass it.
package services
