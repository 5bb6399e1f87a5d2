// Package secret keeps the values of Secrets out of what podctl prints.
//
//	a pod, its Secrets ─► Values ─► Mask ─► messages, errors, logs
//	answer of a runtime, names of variables ─► Answer
//	Secrets ─► Objects: what is rendered from them shows where they are used
//
// Placeholder stands for a value everywhere. The kubelet masks nothing. Everything is pure.
package secret
