// Package apiget reads objects, pod lists and metrics from Kubernetes endpoints: a
// kubelet's server or an API server.
//
//	http.Client ──► Object, PodList, Text ──► a value, or *StatusError
//
// Every answer is bounded in size and in the number of its values; the caller's client bounds the time. Calls
// block until the answer is read or the context ends. Nothing is kept.
//
// Differs from the kubelet in: nothing here is a part of it.
package apiget
