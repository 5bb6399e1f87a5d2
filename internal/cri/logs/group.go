package logs

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"
)

// GroupOptions are what a Group does with what it reads. The functions are called
// by Run.
type GroupOptions struct {
	// Each is called for each line, in the order of time. Its error ends Run, or
	// with ErrEnough the reading of this log.
	Each func(of any, l Line) error
	// Idle is called when there is nothing more to read for now; nil for nothing.
	Idle func() error
	// Problem is called for what could not be read; nil ignores it.
	Problem func(of any, err error)
	// Pieces is how long the beginning of a line waits for its end before it is
	// passed on; 0 waits for the end of the log.
	Pieces time.Duration
	// Retry is for logs that are followed and read from their beginning: one that cannot
	// be read is tried again, and is a Problem only if it could not be read when its
	// container had ended. So is one of which there was no file.
	Retry bool
}

// ErrEnough ends the reading of one log.
var ErrEnough = errors.New("enough lines")

// Group reads several logs and merges them in the order of time. While they are
// followed, a line waits up to window for an earlier one of another log.
type Group struct {
	opts GroupOptions
	wake chan struct{}

	mu     sync.Mutex
	added  []*member
	ended  []string
	sealed bool

	// What follows belongs to Run.
	members map[string]*member
	heads   headHeap // members with a line to pass on
	dry     []*member
	now     time.Time // of the round
	closing bool      // sealed as of the round
}

// NewGroup returns a group without logs. The caller closes it.
func NewGroup(o GroupOptions) *Group {
	return &Group{opts: o, wake: make(chan struct{}, 1), members: map[string]*member{}}
}

// Add opens a log, which is read by Run. The key is for End; of is what Each is
// called with.
func (g *Group) Add(key string, of any, path string, o Options) error {
	if o.Problem == nil && g.opts.Problem != nil {
		o.Problem = func(err error) { g.opts.Problem(of, err) }
	}
	r := &Reader{path: path, opts: o}
	failed := r.openFiles()
	if failed != nil && !g.opts.Retry {
		return failed
	}
	if g.opts.Retry && failed == nil && r.current == nil {
		failed = fileError(path, fs.ErrNotExist)
	}
	g.mu.Lock()
	g.added = append(g.added, &member{key: key, of: of, reader: r, failed: failed})
	g.mu.Unlock()
	g.signal()
	return nil
}

// End says that the container of a log has ended: what the runtime still writes
// is read, then the log is closed.
func (g *Group) End(key string) {
	g.mu.Lock()
	g.ended = append(g.ended, key)
	g.mu.Unlock()
	g.signal()
}

// Seal says that no log will be added: Run returns when all have ended.
func (g *Group) Seal() {
	g.mu.Lock()
	g.sealed = true
	g.mu.Unlock()
	g.signal()
}

// Close closes the files. Run must have returned, or not been called.
func (g *Group) Close() {
	g.applyChanges()
	for _, m := range g.members {
		m.reader.Close()
	}
}

func (g *Group) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Run reads until all logs have ended, after Seal, or ctx ends; then it returns
// ctx's error.
func (g *Group) Run(ctx context.Context) error {
	for {
		g.closing = g.applyChanges()
		if err := g.round(ctx); err != nil {
			return err
		}
		if g.closing && len(g.members) == 0 {
			return g.idle()
		}
		if err := g.idle(); err != nil {
			return err
		}
		if err := g.wait(ctx); err != nil {
			return err
		}
	}
}

func (g *Group) idle() error {
	if g.opts.Idle == nil {
		return nil
	}
	return g.opts.Idle()
}
