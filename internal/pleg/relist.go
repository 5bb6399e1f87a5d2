package pleg

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// fullRelist is a list of everything in flight.
type fullRelist struct {
	stamp stamp
	// requests and retry are what it serves; they are restored if it fails.
	requests map[types.UID]relistRequest
	retry    map[types.UID]struct{}
}

func (l *loop) startFullRelist(now time.Time) {
	f := &fullRelist{stamp: l.cache.beginListing(now), requests: l.requested, retry: l.retry}
	l.full, l.urgent = f, time.Time{}
	l.requested, l.order, l.retry = map[types.UID]relistRequest{}, nil, map[types.UID]struct{}{}
	var interval time.Duration
	if !l.lastBegin.IsZero() {
		interval = now.Sub(l.lastBegin)
	}
	l.lastBegin = now
	end := l.health.beginCall(Call{Op: opListPods, Since: now})
	l.spawn(func() func() {
		pods, err := l.rt.ListPods(l.ctx)
		end()
		return func() {
			now := l.opts.Now()
			l.opts.Observer.Relisted(now.Sub(f.stamp.at), interval, err)
			l.full, l.lastEnd = nil, now
			if err != nil {
				l.fullRelistFailed(f, err, now)
			} else {
				l.fullRelistDone(f, pods, now)
			}
			l.health.relisted(f.stamp.at, err, l.coverage.isProven(now))
		}
	})
}

// fullRelistFailed restores the requests that the relist would have served: those of
// single pods are relisted, the others wait for the next full relist.
func (l *loop) fullRelistFailed(f *fullRelist, err error, now time.Time) {
	if !l.failing {
		l.opts.Log.Warn("relist failed", "op", "ListPods", "err", err)
	}
	l.failing = true
	for uid, m := range f.requests {
		l.requestRelist(uid, m)
	}
	for uid := range f.retry {
		l.retryLater(uid, now)
	}
}

func (l *loop) fullRelistDone(f *fullRelist, pods []*pod.Pod, now time.Time) {
	if l.failing {
		l.opts.Log.Info("relist works again", "op", "ListPods")
		l.failing = false
		select {
		case l.recovered <- struct{}{}:
		default:
		}
	}
	for _, p := range pods {
		l.observe(p.UID, l.observationOf(f, p.UID, p), now)
	}
	for _, rec := range l.unlisted(f.stamp) {
		if rec.present {
			l.observe(rec.uid, l.observationOf(f, rec.uid, nil), now)
		}
		delete(l.records, rec.uid)
	}
	l.listed = true
	l.cache.advance(f.stamp)
	l.coverage.fullRelistDone(f.stamp.seq)
	l.list.setAll(pods, f.stamp.seq)
}

// unlisted returns the records of the pods that no listing has shown since a
// full relist began, by UID, so that the same history yields the same events.
func (l *loop) unlisted(since stamp) []*record {
	var gone []*record
	for _, rec := range l.records {
		if rec.stamp.seq < since.seq {
			gone = append(gone, rec)
		}
	}
	slices.SortFunc(gone, func(a, b *record) int { return cmp.Compare(a.uid, b.uid) })
	return gone
}

// observationOf returns what the full relist shows of one pod. A hint triggered it if
// the list replaced a hinted relist, or a hint was received meanwhile.
func (l *loop) observationOf(f *fullRelist, uid types.UID, p *pod.Pod) observation {
	live := f.requests[uid].live || l.requested[uid].live
	if s := l.podRelists[uid]; s != nil {
		live = live || s.request.live
	}
	return observation{pod: p, stamp: f.stamp, source: FromRelist, full: true, live: live}
}

// podRelist is a relist of one pod in flight.
type podRelist struct {
	request relistRequest
	stamp   stamp
}

// startPodRelists relists the waiting pods, one relist per pod, except those that a
// listing has served meanwhile. A pod whose status is being read waits until the
// read has finished.
func (l *loop) startPodRelists(now time.Time) {
	waiting := l.order[:0]
	for i, uid := range l.order {
		if len(l.calls) >= l.opts.Parallel {
			waiting = append(waiting, l.order[i:]...) // may be thousands, at each step
			break
		}
		m, rec := l.requested[uid], l.records[uid]
		switch {
		case l.podRelists[uid] != nil || rec != nil && rec.reading != nil:
			waiting = append(waiting, uid)
			continue
		case l.isServed(uid, m): // by a listing for another request
		case m.source == FromHint && !m.awaited && !l.inbox.heldUntil(uid, now).IsZero():
			waiting = append(waiting, uid)
			continue
		case rec == nil || !m.isServedBy(rec.stamp):
			l.startPodRelist(uid, m, now)
		}
		delete(l.requested, uid)
	}
	l.order = waiting
}

func (l *loop) startPodRelist(uid types.UID, m relistRequest, now time.Time) {
	s := &podRelist{request: m, stamp: l.cache.beginListing(now)}
	l.podRelists[uid] = s
	c := Call{Op: opListPod, PodUID: uid, Since: now}
	if rec := l.records[uid]; rec != nil && rec.seen != nil {
		c.Namespace, c.Name = rec.seen.Namespace, rec.seen.Name
	}
	var p *pod.Pod
	l.startCall(c, func(ctx context.Context) (err error) {
		p, err = l.rt.ListPod(ctx, uid)
		return err
	}, func(err error, late bool) {
		if late {
			return
		}
		delete(l.podRelists, uid)
		now := l.opts.Now()
		changed := false
		if err != nil {
			if !l.failing { // else the failure of the full relist is logged
				l.opts.Log.Warn("relist failed", "op", "ListPod", "uid", uid, "err", err)
			}
			l.retryLater(uid, now)
		} else {
			changed = l.observe(uid, observation{pod: p, stamp: s.stamp, source: m.source, live: m.live}, now)
			l.list.setPod(uid, p, s.stamp.seq)
		}
		l.opts.Observer.PodRelisted(m.source, now.Sub(s.stamp.at), changed, err)
	})
}
