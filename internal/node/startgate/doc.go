// Package startgate orders the starts of pods: by priority, then by arrival, a
// bounded number at a time.
//
// Its one idea: a runtime that is asked for 60 pods at once finishes none of them
// until nearly all are done. Asked for a few at a time it takes as long for all,
// and the first pods run at once.
//
//	node ── Expect ──► queue (pure) ◄── Enter ── podsync, before the pod's cgroup, or CreateContainer
//	                     │ takeTurns(now)
//	                     ▼
//	           turns in flight, at most window ──── leave ── after StartContainer, before pulls and hooks
//
// A turn is a sequence of calls that create and start: RunPodSandbox, and the pod's
// cgroup before it, up to StartContainer. An image pull, a hook or a back-off has none, and a pod never
// holds two, so that turns cannot deadlock. The window begins small, grows by one
// with each turn that ends, up to Options.Most, and is small again once no pod
// starts.
//
// The bound is for a runtime that is busy, not for one that hangs: while a turn
// lasts longer than Options.HungAfter, every pod is admitted at once. So no pod waits
// longer than HungAfter for a call that does not return.
//
// # Who owns what, and what may block
//
// A queue is a value without clock and goroutines; Gate has its mutex, its timer and
// the channels of those who wait. Only Enter blocks, on its context.
//
// # Differs from the kubelet in
//
// The kubelet has no such bound: the workers of all pods call the runtime at once,
// in no order.
package startgate
