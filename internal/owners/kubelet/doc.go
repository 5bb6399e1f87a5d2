// Package kubelet finds the kubelet that uses the same runtime, and reads what
// it says about itself.
//
//	/proc, unix sockets ──► Find ──► Process: pid, addresses, static pods, node name
//	token, certificates ──► Process.Ask ┐
//	URL, credentials    ──► Options.Ask ┴──► Answer: pods, and why they may not be all
//
// Whether the pods that it names are all that it has is judged once, by Ask. Its PodsAPI,
// which is asked first, answers only once it has read all of its sources. Without that,
// its age, its static pods and what it names decide; its metric kubelet_working_pods decides where it
// can be read, because a kubelet has no such series before it has read all of its
// sources. The count in it is evidence that it terminates pods that it does not
// name, and never that it does not: it names no pod, and is up to two seconds old.
//
// Any process of the host may listen at a port of the kubelet's configuration. What
// Process reads at the PodsAPI counts only if the kubelet's process serves the socket,
// and what it reads at a port counts only if the server's end of the connection is open in the
// kubelet's process, or the server has a certificate of the kubelet. What Options name
// is the user's responsibility.
//
// Nothing is kept between calls. Find reads /proc, and configuration files within
// two seconds; the methods of Options make HTTP calls that end with their context.
//
// Differs from the kubelet in: nothing here is a part of it.
package kubelet
