// Package owners answers one question: whose pod is this, and may it be touched?
//
//	podctl processes ─┐
//	locks of names ───┤
//	the kubelet ──────┼─► Asker ─► Answers ─► Judge (pure) ─► Verdict ─► everybody
//	manifests ────────┤   bounded,             one table
//	the cluster ──────┘   canceled by its context
//
// An Asker is the only place that asks; its answers are a value. Answers.Judge reduces
// what they say of one pod to Evidence, and looks that up in one table of rules
// (docs/ownership.md). Nothing else decides whose a pod is: commands and the node differ
// only in what they do with a verdict.
//
// Absence of evidence is not evidence: an owner that cannot be seen, does not answer, or
// may not have said all yet makes a pod Unknown, never None.
//
// Asker reads files, /proc and networks, each with a bound; Judge never blocks.
//
// Differs from the kubelet in: a kubelet is alone on its runtime, and terminates every
// pod that it does not know (HandlePodCleanups in pkg/kubelet/kubelet_pods.go).
package owners
