// Package kubelet finds the kubelet that uses the same runtime, and reads what
// it says about itself.
//
//	/proc, unix sockets ──► Find ──► Near: pid, addresses, static pods, node name
//	Options: URL, credentials ──► Pods, Reservation
//
// Nothing is kept between calls. Find reads /proc and files; the methods of
// Options make HTTP calls that end with their context.
//
// Differs from the kubelet in: nothing here is a part of it.
package kubelet
