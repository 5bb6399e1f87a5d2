package look

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// logsRun is one run of `podctl logs`.
type logsRun struct {
	env     *shell.Env
	opts    logsOptions
	session *target.Session
	group   *logs.Group
	printer *logPrinter

	mu sync.Mutex
	// problems are what could not be read.
	problems []error
	// sources is the number of containers so far.
	sources int
}

// outputTimeout is how long a run waits, once it is interrupted, for a reader of
// its output.
const outputTimeout = 300 * time.Millisecond

func runLogs(ctx context.Context, e *shell.Env, o logsOptions) error {
	err := e.UntilInterrupted(ctx, func(ctx context.Context) error {
		s, err := openLogs(ctx, e, o)
		if err != nil {
			return err
		}
		defer s.Close()
		r := &logsRun{env: e, opts: o, session: s, printer: newLogPrinter(e, o)}
		return r.run(ctx)
	})
	if o.follow && errors.Is(err, shell.ErrInterrupted) {
		return nil // it is how following ends
	}
	return err
}

// openLogs connects to the runtime. What is followed depends on the owners of pods.
func openLogs(ctx context.Context, e *shell.Env, o logsOptions) (*target.Session, error) {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return nil, err
	}
	if o.follow {
		err = s.List(ctx)
	} else {
		err = s.ListFor(ctx, o.query)
	}
	if err != nil {
		s.Close()
	}
	return s, err
}

func (r *logsRun) run(ctx context.Context) error {
	if r.opts.follow {
		shell.Settle()
	}
	found, err := r.find(ctx)
	if err != nil && len(found) == 0 {
		return err
	}
	problems := []error{err}
	r.group = logs.NewGroup(logs.GroupOptions{Each: r.line, Idle: r.printer.flush, Problem: r.problem, Pieces: pieceTime})
	ofWorkload := slices.ContainsFunc(found, func(f *foundLog) bool { return f.OfWorkload })
	if r.opts.prefix == byTargets && (ofWorkload || len(found) > 1 && r.env.TTY) {
		r.printer.prefix = true
	}
	waits := false // for a container that does not exist yet
	for _, f := range found {
		if r.opts.follow && f.Container == nil {
			waits = true
			continue
		}
		if f.err == nil {
			f.err = r.add(f, r.opts.lines)
		}
		if f.err != nil {
			problems = append(problems, f.err)
		}
	}
	if r.opts.follow && (waits || r.sources > 0) {
		follow := &logFollow{logsRun: r, seen: map[string]bool{}}
		go follow.run(ctx, found)
	} else {
		r.group.Seal()
	}
	err = finish(ctx, outputTimeout, func() error { // nothing may read the output
		err := r.group.Run(ctx)
		r.group.Close()
		return errors.Join(err, r.printer.finish())
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(append([]error{err}, append(problems, r.problems...)...)...)
}

func (r *logsRun) line(of any, l logs.Line) error {
	s := of.(*logSource)
	err := r.printer.line(s, l)
	if errors.Is(err, errLimit) {
		return logs.ErrEnough
	}
	return err
}

func (r *logsRun) problem(_ any, err error) {
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
func (r *logsRun) find(ctx context.Context) ([]*foundLog, error) {
	q := r.opts.query
	targets, err := r.session.Containers(ctx, q)
	var missing *target.AttemptNotFoundError
	removed := len(targets) == 0 && errors.As(err, &missing)
	if removed {
		q.Attempt, q.Previous = nil, false
		if targets, _ = r.session.Containers(ctx, q); len(targets) == 0 {
			return nil, err
		}
	}
	var found []*foundLog
	for _, t := range targets {
		if len(t.DefaultedFrom) > 0 {
			fmt.Fprintln(r.env.Errw, defaultNote(t))
		}
		found = append(found, &foundLog{Target: t})
	}
	r.readPaths(ctx, found)
	if !removed {
		return found, err
	}
	for _, f := range found {
		f.err = errors.Join(f.err, f.earlier(r.opts.query, err))
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
func (r *logsRun) readPaths(ctx context.Context, found []*foundLog) {
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

func (r *logsRun) pathOf(ctx context.Context, t target.Target) (string, error) {
	if t.Container == nil {
		return "", &target.NoContainerError{Pod: t.Pod}
	}
	status, err := r.session.Client.ContainerStatus(ctx, t.Container.ID)
	switch {
	case err != nil:
		return "", err
	case status.LogPath == "":
		return "", hint.Errorf("its sandbox was created without a log directory", "%s: the runtime writes no log of it", t.DisplayName())
	case !filepath.IsAbs(status.LogPath):
		return "", fmt.Errorf("%s: its log path %q is not absolute", t.DisplayName(), output.Printable(status.LogPath))
	}
	return status.LogPath, nil
}

// add adds a log to what is printed.
func (r *logsRun) add(f *foundLog, o logs.Options) error {
	s := &logSource{name: f.DisplayName(), left: r.opts.limit}
	if r.printer.color {
		s.color = prefixColors[r.sources%len(prefixColors)]
	}
	o.Follow = r.opts.follow
	err := r.group.Add(f.Container.ID, s, f.path, o)
	if err == nil {
		r.sources++
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.Container.State == pod.Created {
		return fmt.Errorf("%s: it has not started, and has no log", f.DisplayName())
	}
	return hint.Errorf("it was removed, or the runtime runs on another host", "%s: its log %s does not exist on this host", f.DisplayName(), output.Printable(f.path))
}
