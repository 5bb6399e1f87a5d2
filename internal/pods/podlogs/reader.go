package podlogs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Reader reads the logs of the containers that a query names.
type Reader struct {
	Session *target.Session // which was listed
	Query   target.Query
	// Lines are which lines of each container are read. With Lines.Follow also those that
	// are written later, until the containers exit and are not started again.
	Lines logs.Options
	Now   func() time.Time
	// Found is called once with the containers; Source returns what Each is called with for
	// one of them.
	Found  func([]target.Target)
	Source func(target.Target) any
	// Each and Idle are those of logs.GroupOptions.
	Each func(of any, l logs.Line) error
	Idle func() error
	// Warn is called with an error that passes.
	Warn func(error)

	group *logs.Group

	mu sync.Mutex
	// problems are what could not be read.
	problems []error
}

// pieceTime is how long the beginning of a line, such as a prompt, waits for its
// end.
const pieceTime = 500 * time.Millisecond

// Run passes the lines on until no more can come, or ctx ends. The error is also that of each
// log that could not be read.
func (r *Reader) Run(ctx context.Context) error {
	found, err := r.find(ctx)
	if err != nil && len(found) == 0 {
		return err
	}
	problems := []error{err}
	r.group = logs.NewGroup(logs.GroupOptions{Each: r.Each, Idle: r.Idle, Problem: r.problem, Pieces: pieceTime})
	follows := false // a log, or a container that does not exist yet
	for _, f := range found {
		if r.Lines.Follow && f.Container == nil {
			follows = true
			continue
		}
		if f.err == nil {
			f.err = r.add(f, r.Lines)
		}
		if f.err != nil {
			problems = append(problems, f.err)
		} else {
			follows = r.Lines.Follow
		}
	}
	if follows {
		follow := &follower{Reader: r, seen: map[string]bool{}}
		go follow.run(ctx, found)
	} else {
		r.group.Seal()
	}
	err = r.group.Run(ctx)
	r.group.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(append([]error{err}, append(problems, r.problems...)...)...)
}

func (r *Reader) problem(_ any, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, err)
}

// foundLog is the log of one container.
type foundLog struct {
	target.Target
	path string
	err  error
}

// find returns the logs that the query means. An attempt that was removed is
// found beside that of a later one.
func (r *Reader) find(ctx context.Context) ([]*foundLog, error) {
	q := r.Query
	targets, err := r.Session.Containers(ctx, q)
	var missing *target.AttemptNotFoundError
	removed := len(targets) == 0 && errors.As(err, &missing)
	if removed {
		q.Attempt, q.Previous = nil, false
		if targets, _ = r.Session.Containers(ctx, q); len(targets) == 0 {
			return nil, err
		}
	}
	r.Found(targets)
	var found []*foundLog
	for _, t := range targets {
		found = append(found, &foundLog{Target: t})
	}
	r.readPaths(ctx, found)
	if !removed {
		return found, err
	}
	for _, f := range found {
		f.err = errors.Join(f.err, f.earlier(r.Query, err))
	}
	return found, nil
}

// earlier sets the path to that of an earlier attempt, which the runtime does
// not have any more; missing is the error if its log is not there either.
func (f *foundLog) earlier(q target.Query, missing error) error {
	if f.Container == nil || filepath.Base(f.path) != filepath.Base(render.LogPath(f.Container.Name, f.Container.Attempt)) {
		return missing
	}
	attempt := int64(f.Container.Attempt) - 1
	if q.Attempt != nil {
		attempt = int64(*q.Attempt)
	}
	if attempt < 0 {
		return missing
	}
	f.path = filepath.Join(filepath.Dir(f.path), filepath.Base(render.LogPath(f.Container.Name, uint32(attempt))))
	log, err := logs.Open(f.path, logs.All)
	if err != nil {
		return missing
	}
	log.Close()
	return nil
}

// statusReads is how many statuses are read at once.
const statusReads = 16

// readPaths asks the runtime where the logs are.
func (r *Reader) readPaths(ctx context.Context, found []*foundLog) {
	var g errgroup.Group
	g.SetLimit(statusReads)
	for _, f := range found {
		g.Go(func() error {
			f.path, f.err = r.pathOf(ctx, f.Target)
			return nil
		})
	}
	_ = g.Wait() // returns no error
}

func (r *Reader) pathOf(ctx context.Context, t target.Target) (string, error) {
	if t.Container == nil {
		return "", &target.NoContainerError{Pod: t.Pod}
	}
	status, err := r.Session.Client.ContainerStatus(ctx, t.Container.ID)
	switch {
	case err != nil:
		return "", err
	case status.LogPath == "":
		return "", hint.Errorf("its sandbox was created without a log directory", "%s: the runtime writes no log of it", t.DisplayName())
	case !filepath.IsAbs(status.LogPath):
		return "", fmt.Errorf("%s: its log path %q is not absolute", t.DisplayName(), status.LogPath)
	}
	return status.LogPath, nil
}

// add adds a log to what is read.
func (r *Reader) add(f *foundLog, o logs.Options) error {
	err := r.group.Add(f.Container.ID, r.Source(f.Target), f.path, o)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.Container.State == pod.Created {
		return fmt.Errorf("%s: it has not started, and has no log", f.DisplayName())
	}
	return hint.Errorf("it was removed, or the runtime runs on another host", "%s: its log %s does not exist on this host", f.DisplayName(), f.path)
}
