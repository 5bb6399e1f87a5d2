package logs

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// pollPeriod is the poll interval of files whose directories are watched,
	// in case a change is not reported, and watchlessPeriod that of others.
	pollPeriod      = time.Second
	watchlessPeriod = 100 * time.Millisecond
	// flushPeriod is the poll interval while a runtime writes the rest of a log.
	flushPeriod = 10 * time.Millisecond
)

// watcher watches directories, as far as the kernel can. The zero value polls.
type watcher struct {
	notify *fsnotify.Watcher // nil without one
	// incomplete: some directories are not watched.
	incomplete atomic.Bool
}

func newWatcher() *watcher {
	w := &watcher{}
	w.notify, _ = fsnotify.NewWatcher() // without one, files are polled
	return w
}

// add watches a directory.
func (w *watcher) add(dir string) {
	if w.notify != nil && w.notify.Add(dir) != nil {
		w.incomplete.Store(true)
	}
}

func (w *watcher) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

func (w *watcher) events() (chan fsnotify.Event, chan error) {
	if w.notify == nil {
		return nil, nil
	}
	return w.notify.Events, w.notify.Errors
}

func (w *watcher) period() time.Duration {
	if w.notify == nil || w.incomplete.Load() {
		return watchlessPeriod
	}
	return pollPeriod
}

// wait waits until a log may have changed.
func (g *Group) wait(ctx context.Context) error {
	timer := time.NewTimer(g.timeout())
	defer timer.Stop()
	events, errs := g.watcher.Load().events()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-g.wake:
	case ev := <-events:
		changed := map[string]bool{filepath.Dir(ev.Name): true}
		for {
			select {
			case ev := <-events:
				changed[filepath.Dir(ev.Name)] = true
				continue
			default:
			}
			break
		}
		for _, m := range g.dry {
			m.changed = m.changed || changed[m.dir] || m.end != nil
		}
		return nil
	case <-errs: //nolint:errcheck // whatever it is, for instance too many events: every log may have changed
	case <-timer.C:
	}
	for _, m := range g.dry {
		m.changed = true
	}
	return nil
}

// timeout returns how long nothing needs to be done unless something changes.
func (g *Group) timeout() time.Duration {
	timeout := g.watcher.Load().period()
	if len(g.heads) > 0 {
		timeout = min(timeout, window)
	}
	for _, m := range g.dry {
		if m.end != nil || m.reader.lingers() {
			timeout = min(timeout, flushPeriod)
		}
		if g.opts.Pieces > 0 && m.reader.lines.pending() {
			timeout = min(timeout, g.opts.Pieces)
		}
	}
	return timeout
}

const (
	// quietTime is how long nothing new must have come where it is not known whether
	// the runtime still writes, and flushTimeout how long it may take to write the
	// rest: of a container that has ended, or to a file that was rotated. A busy disk lets
	// it wait for seconds.
	quietTime    = 100 * time.Millisecond
	flushTimeout = 10 * time.Second
)

// ending is the end of a log whose container has ended, which a runtime may
// report before it has written the last lines.
type ending struct {
	// since is when the log was first examined, last when it last had a line.
	since, last time.Time
}

// over reports whether everything is written. complete and written report what is
// known of the processes that have the file open for writing; none is that there
// is no file.
func (e *ending) over(complete, written, none bool, now time.Time) bool {
	return complete || none || now.Sub(e.last) >= quietTime && !written || now.Sub(e.since) >= flushTimeout
}
