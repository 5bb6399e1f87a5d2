// Package why says why a pod is not as it should be: one set of words for the step in which a pod
// is, the layer that it waits for, and how sure that is, and one table of the error texts of the
// field.
//
//	error of a runtime, kubelet, CNI plugin, kernel ──► Explain ──► Meaning: step, layer, what it means, next command
//
// Explain is pure, and bounded in the size of what it reads. It looks at the structure of a text
// before its words: in which operation it failed, whose program could not be executed, what a path
// belongs to, and what an error number is about.
//
// The kubelet has no counterpart: it logs errors and retries.
package why
