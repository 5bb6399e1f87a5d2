package pleg

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// stamp orders listings: at is when the list call began, seq the number of the
// call, in the order in which they began.
type stamp struct {
	at  time.Time
	seq uint64
}

// entry is what the cache holds for one pod: a status, an error, or (neither)
// that the pod is absent.
type entry struct {
	stamp  stamp
	status *pod.Status
	err    error
	// unread: a listing newer than stamp showed a change, and the status has
	// not been read since. The global time does not apply to this entry.
	unread bool
}

// cache holds a status or an error for every pod of the runtime. Only the
// loop writes (pkg/kubelet/container/cache.go). A pod without an entry is
// absent as of the global time.
type cache struct {
	mu      sync.Mutex
	seq     uint64
	entries map[types.UID]*entry
	global  stamp
	waiters map[types.UID][]*waiter
}

// waiter is a caller of GetNewerThan. A listing that began after it was
// registered serves it, and so does one that began after its time.
type waiter struct {
	after time.Time
	seq   uint64
	done  chan struct{} // closed when status and err are set
	answer
}

type answer struct {
	status *pod.Status
	err    error
}

func newCache() *cache {
	return &cache{entries: map[types.UID]*entry{}, waiters: map[types.UID][]*waiter{}}
}

// beginListing stamps a list call that starts now.
func (c *cache) beginListing(now time.Time) stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq++
	return stamp{at: now, seq: c.seq}
}

// set records a status, or the error of reading it, as of s. unread: a
// newer listing is already waiting for its status to be read.
func (c *cache) set(uid types.UID, st *pod.Status, err error, s stamp, unread bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[uid] = &entry{stamp: s, status: st, err: err, unread: unread}
	c.notify(uid)
}

// changed excludes the entry from the global time. What was known until now,
// even that the pod was absent, keeps its own stamp.
func (c *cache) changed(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[uid]
	if e == nil {
		e = &entry{stamp: c.global}
		c.entries[uid] = e
	}
	if !e.unread {
		e.stamp = c.stampOf(e)
		e.unread = true
	}
}

// unchanged records that the entry still holds as of s.
func (c *cache) unchanged(uid types.UID, s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[uid]; e != nil {
		e.stamp, e.unread = s, false
	}
	c.notify(uid)
}

// absent records that the runtime held nothing of the pod as of s.
func (c *cache) absent(uid types.UID, s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[uid] = &entry{stamp: s}
	c.notify(uid)
}

// advance sets the global time: everything not unread holds as of s. Entries
// of absent pods older than that are removed.
func (c *cache) advance(s stamp) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.global = s
	for uid, e := range c.entries {
		if e.status == nil && e.err == nil && !e.unread && e.stamp.seq <= s.seq {
			delete(c.entries, uid)
		}
	}
	for uid := range c.waiters {
		c.notify(uid)
	}
}

// get returns what is known now, whatever its age.
func (c *cache) get(uid types.UID) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer(uid)
}

// wait returns a waiter that is already done if the cache knows something
// newer than after.
func (c *cache) wait(uid types.UID, after time.Time) *waiter {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &waiter{after: after, seq: c.seq, done: make(chan struct{})}
	c.waiters[uid] = append(c.waiters[uid], w)
	c.notify(uid)
	return w
}

// isAwaited reports whether somebody waits for a newer status of the pod.
func (c *cache) isAwaited(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiters[uid]) > 0
}

// removeWaiter forgets a waiter whose caller has gone.
func (c *cache) removeWaiter(uid types.UID, gone *waiter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepWaiters(uid, func(w *waiter) bool { return w != gone })
}

// The functions below are called with the lock held.

func (c *cache) stampOf(e *entry) stamp {
	if e == nil || !e.unread && c.global.seq > e.stamp.seq {
		return c.global
	}
	return e.stamp
}

func (c *cache) answer(uid types.UID) answer {
	e := c.entries[uid]
	at := c.stampOf(e).at
	switch {
	case e == nil || e.status == nil && e.err == nil:
		return answer{status: &pod.Status{UID: uid, At: at}}
	case e.err != nil || e.status.At.Equal(at):
		return answer{e.status, e.err}
	}
	// A status that was returned is never changed: a newer time is set on a
	// copy.
	st := *e.status
	st.At = at
	e.status = &st
	return answer{status: &st}
}

func (c *cache) notify(uid types.UID) {
	if len(c.waiters[uid]) == 0 {
		return
	}
	s := c.stampOf(c.entries[uid])
	c.keepWaiters(uid, func(w *waiter) bool {
		if s.seq <= w.seq && !s.at.After(w.after) {
			return true
		}
		w.answer = c.answer(uid)
		close(w.done)
		return false
	})
}

func (c *cache) keepWaiters(uid types.UID, f func(*waiter) bool) {
	var kept []*waiter
	for _, w := range c.waiters[uid] {
		if f(w) {
			kept = append(kept, w)
		}
	}
	if c.waiters[uid] = kept; len(kept) == 0 {
		delete(c.waiters, uid)
	}
}

// lastSeq is the number of the last list call that has begun.
func (c *cache) lastSeq() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seq
}
