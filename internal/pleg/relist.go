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
	// marks and retry are what it serves; undone where it fails.
	marks map[types.UID]mark
	retry map[types.UID]struct{}
}

func (l *loop) startFull(now time.Time) {
	f := &fullRelist{stamp: l.cache.begin(now), marks: l.dirty, retry: l.retry}
	l.full, l.urgent = f, time.Time{}
	l.dirty, l.order, l.retry = map[types.UID]mark{}, nil, map[types.UID]struct{}{}
	var interval time.Duration
	if !l.lastBegin.IsZero() {
		interval = now.Sub(l.lastBegin)
	}
	l.lastBegin = now
	about := Call{Op: opListPods, Since: now}
	end := l.health.begin(about)
	l.spawn(about, func() func() {
		pods, err := l.rt.ListPods(l.ctx)
		end()
		return func() {
			now := l.opts.Now()
			l.opts.Observer.Relisted(now.Sub(f.stamp.at), interval, err)
			l.full, l.lastEnd = nil, now
			if err != nil {
				l.fullFailed(f, err, now)
			} else {
				l.fullDone(f, pods, now)
			}
			l.health.relisted(f.stamp.at, err, l.proof.proved(now))
		}
	})
}

// fullFailed changes nothing. The requests that it would have served wait for
// the next one, except those that a relist of one pod can serve.
func (l *loop) fullFailed(f *fullRelist, err error, now time.Time) {
	if !l.failing {
		l.opts.Log.Warn("relist failed", "op", "ListPods", "err", err)
	}
	l.failing = true
	for uid, m := range f.marks {
		l.mark(uid, m)
	}
	for uid := range f.retry {
		l.retryLater(uid, now)
	}
}

func (l *loop) fullDone(f *fullRelist, pods []*pod.Pod, now time.Time) {
	if l.failing {
		l.opts.Log.Info("relist works again", "op", "ListPods")
		l.failing = false
		select {
		case l.recovered <- struct{}{}:
		default:
		}
	}
	for _, p := range pods {
		l.observe(p.UID, l.sighting(f, p.UID, p), now)
	}
	for _, rec := range l.unlisted(f.stamp) {
		if rec.present {
			l.observe(rec.uid, l.sighting(f, rec.uid, nil), now)
		}
		delete(l.records, rec.uid)
	}
	l.listed = true
	l.cache.advance(f.stamp)
	l.proof.relisted(f.stamp.seq)
	l.list.replace(pods, f.stamp.seq)
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

// sighting is what the full relist shows about one pod. A hint triggered it if
// the list replaced a hinted relist, or a hint was received meanwhile.
func (l *loop) sighting(f *fullRelist, uid types.UID, p *pod.Pod) sighting {
	live := f.marks[uid].live || l.dirty[uid].live
	if s := l.singles[uid]; s != nil {
		live = live || s.mark.live
	}
	return sighting{pod: p, stamp: f.stamp, source: FromRelist, full: true, live: live}
}

// single is a relist of one pod in flight.
type single struct {
	mark  mark
	stamp stamp
}

// startSingles relists the waiting pods, one relist per pod, except those that a
// listing has served meanwhile. A pod whose status is being read waits until the
// read has finished.
func (l *loop) startSingles(now time.Time) {
	waiting := l.order[:0]
	for i, uid := range l.order {
		if len(l.calls) >= l.opts.Parallel {
			waiting = append(waiting, l.order[i:]...) // may be thousands, at each step
			break
		}
		m, rec := l.dirty[uid], l.records[uid]
		switch {
		case l.singles[uid] != nil || rec != nil && rec.reading != nil:
			waiting = append(waiting, uid)
			continue
		case l.served(uid, m): // by a listing that another mark asked for
		case m.source == FromHint && !m.asked && !l.box.heldUntil(uid, now).IsZero():
			waiting = append(waiting, uid)
			continue
		case rec == nil || !m.servedBy(rec.stamp):
			l.startSingle(uid, m, now)
		}
		delete(l.dirty, uid)
	}
	l.order = waiting
}

func (l *loop) startSingle(uid types.UID, m mark, now time.Time) {
	s := &single{mark: m, stamp: l.cache.begin(now)}
	l.singles[uid] = s
	c := Call{Op: opListPod, PodUID: uid, Since: now}
	if rec := l.records[uid]; rec != nil && rec.seen != nil {
		c.Namespace, c.Name = rec.seen.Namespace, rec.seen.Name
	}
	var p *pod.Pod
	l.start(c, func(ctx context.Context) (err error) {
		p, err = l.rt.ListPod(ctx, uid)
		return err
	}, func(err error, late bool) {
		if late {
			return
		}
		delete(l.singles, uid)
		now := l.opts.Now()
		changed := false
		if err != nil {
			if !l.failing { // else the failure of the full relist is logged
				l.opts.Log.Warn("relist failed", "op", "ListPod", "uid", uid, "err", err)
			}
			l.retryLater(uid, now)
		} else {
			changed = l.observe(uid, sighting{pod: p, stamp: s.stamp, source: m.source, live: m.live}, now)
			l.list.put(uid, p, s.stamp.seq)
		}
		l.opts.Observer.PodRelisted(m.source, now.Sub(s.stamp.at), changed, err)
	})
}
