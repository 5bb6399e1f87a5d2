// Package desired asks everyone who can know which pods belong on this node.
//
//	Files    manifests that a person names           ┐
//	Static   a kubelet's static pod directory        │
//	Kubelet  a kubelet's /pods                       ├──► Answer: pods, or why not
//	Cluster  the API server, by a kubeconfig         ┘
//
// An Answer that failed is no answer: that a pod is not in it means nothing.
// Live podctl processes answer through their control sockets, which package
// control knows.
//
// Everything here reads files and networks and may block until its context
// ends. Nothing is kept.
//
// Differs from the kubelet in: nothing here is a part of it.
package desired
