// Package services lets the pods of one machine find each other: it decides what kube-proxy, the
// endpoint controller and the cluster's DNS would, and carries that out with nftables and a DNS
// server.
//
//	Services, EndpointSlices ──► Allocator ──► addresses
//	pods with their status  ─┐      │
//	                         └──► Build ──► Table ──► Rules ──► one transaction of nft
//	                                          └─────► Zone  ──► DNS server ──► the node's resolvers
//
// Allocator, Build, Rules and Zone are pure. A Manager is one process's: it tells the node the
// addresses, and contributes its Services and pods, by a file, to the one process that serves for the
// whole network namespace. Which one that is the kernel decides: it is who has bound DNSAddress,
// which ends with its process. The others try again each second.
//
// The process that serves owns the nftables table TableName and DNSAddress on the loopback
// interface; what a killed one has left there is replaced by the next, or removed by Remove. The
// file of another process counts also after its exit, while its pods run.
// Nothing else of the machine's network is changed.
//
// Only Manager and Host block. Differs from Kubernetes in: one machine and IPv4; the address is a
// hash of the Service's name; endpoints are computed from the pods' status at once instead of
// being stored; a pod's connection to a Service is masqueraded if bridges do not pass packets to
// netfilter (net.bridge.bridge-nf-call-iptables), because its answer would else bypass it.
package services
