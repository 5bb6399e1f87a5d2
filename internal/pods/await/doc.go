// Package await decides whether a pod or container has reached what a user waits for.
//
//	"condition=Ready", "delete", "exit=0", "jsonpath=…" ─► Parse ─► Condition
//	what is seen of a pod ─► Condition.Check ─► met, failed for good, or what was last seen
//
// Ready is the condition of the pod's API status where its owner, a kubelet or a podctl
// process, shows one. Of any other pod it means: its sandbox is ready, and it has
// containers, which all run.
//
// Everything is pure: the caller lists the runtime again when it has changed.
package await
