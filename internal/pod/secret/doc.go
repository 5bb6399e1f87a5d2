// Package secret keeps the values of Secrets out of what podctl prints.
//
//	a pod, its Secrets ─► Values ─► Mask ─► messages, errors, logs
//	answer of a runtime, names of variables ─► AnswerAndValues
//	a text, a JSON value ─► Masker: Mask, what looks like a secret, what has the name of one
//	Secrets ─► Objects: what is rendered from them shows where they are used
//
// Masker is the one for reports, recordings and traces. A value is found in each form that a
// syntax gives it: see fold.go. Whatever they are made of, both take time and memory that are
// linear in the text.
//
// Placeholder stands for a value everywhere. The kubelet masks nothing. Everything is pure.
package secret
