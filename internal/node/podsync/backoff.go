package podsync

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	backoffFirst = 10 * time.Second
	backoffMax   = 5 * time.Minute
	// backoffForget is how long after its last use a back-off is reset.
	backoffForget = 10 * time.Minute
)

// Backoff is the memory of things that keep failing, by key: 10 s after the
// first failure, doubling to 5 min, forgotten 10 min after the last. Crashing
// containers and failing pulls use it, each with its own notion of when the
// wait begins. The zero value has seen no failure. It reads no clock and is
// not safe for concurrent use (client-go util/flowcontrol/backoff.go).
type Backoff struct {
	entries map[string]backoffEntry
}

type backoffEntry struct {
	delay time.Duration
	// event is what the entry was last moved on for, at is when.
	event, at time.Time
}

// Delay returns the current wait of that key, 0 if it has none.
func (b *Backoff) Delay(key string) time.Duration {
	if b == nil {
		return 0
	}
	return b.entries[key].delay
}

// UntilAfter returns the end of the wait that began at finished, the time a
// container exited, and whether now is before it. The wait counts from the last Next where
// the runtime's clock is wrong: the exit is in the future, or before the start that Next was
// for, and not the exit that Next was for.
func (b *Backoff) UntilAfter(key string, finished, now time.Time) (until time.Time, waiting bool) {
	e, ok := b.unexpired(key, finished)
	early := ok && finished.Before(e.at) && !finished.Equal(e.event)
	if early || finished.After(now) {
		return b.Until(key, now)
	}
	if !ok {
		return time.Time{}, false
	}
	until = finished.Add(e.delay)
	return until, now.Before(until)
}

// Until returns the end of the wait that began when the key last failed, and
// whether now is before it.
func (b *Backoff) Until(key string, now time.Time) (until time.Time, waiting bool) {
	e, ok := b.unexpired(key, now)
	if !ok {
		return time.Time{}, false
	}
	until = e.at.Add(e.delay)
	return until, now.Before(until)
}

// Next notes at now that the key failed at event: a first wait if there was
// none lately, else twice the last one.
func (b *Backoff) Next(key string, event, now time.Time) {
	delay := backoffFirst
	if e, ok := b.unexpired(key, event); ok {
		delay = min(2*e.delay, backoffMax)
	}
	if b.entries == nil {
		b.entries = map[string]backoffEntry{}
	}
	b.entries[key] = backoffEntry{delay: delay, event: event, at: now}
}

func (b *Backoff) unexpired(key string, event time.Time) (backoffEntry, bool) {
	if b == nil {
		return backoffEntry{}, false
	}
	e, ok := b.entries[key]
	if !ok || event.Sub(e.at) > backoffForget {
		return backoffEntry{}, false
	}
	return e, true
}

// BackoffKey returns the key of a container of a pod in the crash back-off. What
// could make it stop crashing is part of it: another image or other resources
// reset the back-off
// (GetBackoffKey in pkg/kubelet/kuberuntime/helpers.go).
func BackoffKey(p *v1.Pod, c *v1.Container) string {
	h := fnv.New64a()
	h.Write([]byte(strings.Join([]string{
		p.Name, p.Namespace, string(p.UID), c.Name, c.Image, c.Resources.String(),
	}, "/")))
	return strconv.FormatUint(h.Sum64(), 16)
}
