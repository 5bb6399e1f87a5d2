// Package sources asks all sources for the pods that are desired on this node.
//
//	Files    manifests that the user names           ┐
//	Static   a kubelet's static pod directory        │
//	Kubelet  a kubelet's /pods                       ├──► Answer: pods, or why not
//	Cluster  the API server, by a kubeconfig         ┘
//
// An Answer with an error says nothing about pods that are not in it.
// Live podctl processes answer through their control sockets, which package
// control knows.
//
// Everything here reads files and networks and may block until its context
// ends. Nothing is kept.
//
// Differs from the kubelet in: nothing here is a part of it.
package sources
