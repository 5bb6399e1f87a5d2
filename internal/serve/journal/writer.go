package journal

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/flock"
)

const (
	// queueSize is how many events wait for the disk.
	queueSize = 1024
	// closeTimeout is how long Close waits for the disk.
	closeTimeout = time.Second
	// lockTimeout is how long another process may hold the lock.
	lockTimeout = 5 * time.Second
)

// Writer appends events to the journal of a directory. It is safe for concurrent use.
type Writer struct {
	dir, instance string
	now           func() time.Time
	log           *slog.Logger
	// max is maxSize, except in tests.
	max int64

	mu      sync.Mutex
	queue   []Entry
	dropped int
	closed  bool
	wake    chan struct{}
	done    chan struct{}
}

// NewWriter returns a writer that records events under the name of an instance. The
// directory is made when it is needed.
func NewWriter(dir, instance string, now func() time.Time, log *slog.Logger) *Writer {
	w := &Writer{dir: dir, instance: instance, now: now, log: log, max: maxSize, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// Write records an event. It never blocks.
func (w *Writer) Write(ev event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	if len(w.queue) >= queueSize {
		w.dropped++
		return
	}
	w.queue = append(w.queue, Entry{Event: ev, Instance: w.instance})
	w.signal()
}

func (w *Writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close records what was put, as far as the disk takes it within a second.
func (w *Writer) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
	}
	return nil
}

// run writes until the writer is closed.
func (w *Writer) run() {
	defer close(w.done)
	failing := false
	for range w.wake {
		w.mu.Lock()
		entries, dropped, closed := w.queue, w.dropped, w.closed
		w.queue, w.dropped = nil, 0
		w.mu.Unlock()
		if err := w.write(entries, dropped); err != nil {
			if !failing {
				w.log.Warn("events are not recorded", "dir", w.dir, "err", err)
			}
			failing = true
			w.mu.Lock()
			w.dropped += dropped + len(entries)
			w.mu.Unlock()
		} else {
			failing = false
		}
		if closed {
			return
		}
	}
}

// write appends entries, and before them one that says how many were dropped.
func (w *Writer) write(entries []Entry, dropped int) error {
	var text []byte
	for _, e := range entries {
		line := e.line()
		if line == nil {
			dropped++
		}
		text = append(text, line...)
	}
	if dropped > 0 {
		lost := Entry{Event: event.Event{Time: w.now(), Reason: event.EventsDropped, Count: dropped, Warning: true}, Instance: w.instance}
		text = append(lost.line(), text...)
	}
	if len(text) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	unlock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := w.open()
	if err != nil {
		return err
	}
	return errors.Join(appendTo(f, text), f.Close())
}

// lock locks the directory, and makes it first if it does not exist.
func (w *Writer) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = flock.LockDir(ctx, w.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(w.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		return flock.LockDir(ctx, w.dir)
	}
	return unlock, err
}

// errNotRegular is the error for a journal that is not a file.
var errNotRegular = errors.New("the journal is not a regular file")

// open opens the journal, and replaces it first if it is full. It is opened for each
// batch, so that a root directory can be unmounted and removed.
func (w *Writer) open() (*os.File, error) {
	path := filepath.Join(w.dir, currentName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() >= w.max:
		if err := os.Rename(path, filepath.Join(w.dir, rotatedName)); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
}

// appendTo appends lines to a locked file, or nothing.
func appendTo(f *os.File, text []byte) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := make([]byte, 1)
	if end > 0 {
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' { // cut by a crash
			text = append([]byte{'\n'}, text...)
		}
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}
