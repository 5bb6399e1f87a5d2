package runview

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// LogFollowers print the logs of a run's containers, each attempt from its beginning.
type LogFollowers struct {
	cancel  context.CancelFunc
	path    func(p *v1.Pod, container string, attempt int32) string
	enabled bool

	group *logs.Group
	// followed are the logs by their files; done those whose container has ended.
	followed map[string]*followedLog
	done     map[string]bool
	// lost are the logs that could not be read. Until ended is closed only the group uses them.
	lost  []lostLog
	ended chan struct{}
}

// followedLog is the log of one attempt of a container.
type followedLog struct {
	LogLine // without text
	// ran: it is the container's newest attempt and has run, so that it has a file.
	ran bool
	// lost: some of it could not be read. Only the group uses it.
	lost bool
}

type lostLog struct {
	log *followedLog
	err error
}

// LogOptions say what LogFollowers print.
type LogOptions struct {
	// Path is the log file of a container.
	Path    func(p *v1.Pod, container string, attempt int32) string
	Printer Printer
	// Disabled: nothing is printed.
	Disabled bool
	// Room waits until a line can be printed, or ctx ends. Nothing has to be dropped
	// meanwhile: the logs are in files. nil does not wait.
	Room func(ctx context.Context)
}

// FollowLogs returns followers that end with ctx.
func FollowLogs(ctx context.Context, o LogOptions) *LogFollowers {
	ctx, cancel := context.WithCancel(ctx)
	f := &LogFollowers{cancel: cancel, path: o.Path, enabled: !o.Disabled, followed: map[string]*followedLog{}, done: map[string]bool{}, ended: make(chan struct{})}
	if o.Disabled {
		close(f.ended) // nothing is watched
		return f
	}
	f.group = logs.NewGroup(logs.GroupOptions{Retry: true, Problem: f.recordError, Each: func(of any, l logs.Line) error {
		line := of.(*followedLog).LogLine
		line.Stream, line.Text = l.Stream.String(), l.Text
		if o.Room != nil {
			o.Room(ctx)
		}
		o.Printer.Log(line)
		return ctx.Err() // there may be more than can ever be printed
	}})
	go func() {
		defer close(f.ended)
		_ = f.group.Run(ctx) // it ends with ctx; what cannot be read is a problem
		f.group.Close()
	}()
	return f
}

// recordError keeps the first error of a log.
func (f *LogFollowers) recordError(of any, err error) {
	if log := of.(*followedLog); !log.lost {
		log.lost = true
		f.lost = append(f.lost, lostLog{log, err})
	}
}

// Follow starts to follow new logs, and ends those whose container has exited.
func (f *LogFollowers) Follow(infos []node.Info) {
	if !f.enabled {
		return
	}
	for _, i := range infos {
		for _, c := range pod.Statuses(&i.Status) {
			if c.ContainerID == "" {
				continue
			}
			for attempt := int32(0); attempt <= c.RestartCount; attempt++ {
				over := attempt < c.RestartCount || c.State.Terminated != nil
				f.followAttempt(i, c, attempt, over)
			}
		}
	}
}

func (f *LogFollowers) followAttempt(i node.Info, c v1.ContainerStatus, attempt int32, over bool) {
	path := f.path(i.Pod, c.Name, attempt)
	log := f.followed[path]
	if log == nil {
		log = &followedLog{LogLine: LogLine{Namespace: i.Pod.Namespace, Pod: i.Pod.Name, Container: c.Name}}
		f.followed[path] = log
		// Opened now, because the file is removed with its pod. One that cannot be opened
		// is tried again by the group.
		_ = f.group.Add(path, log, path, logs.Options{Tail: -1, Follow: true})
	}
	log.ran = log.ran || attempt == c.RestartCount && hasRun(c)
	if over && !f.done[path] {
		f.done[path] = true
		f.group.End(path)
	}
}

func hasRun(c v1.ContainerStatus) bool {
	return c.State.Running != nil || c.State.Terminated != nil && !c.State.Terminated.StartedAt.IsZero()
}

// Wait returns once all logs are printed, or on an interrupt, or when ctx ends. It returns at
// most one read error for each attempt of a container.
func (f *LogFollowers) Wait(ctx context.Context, interrupts <-chan os.Signal) []error {
	for path := range f.followed {
		if !f.done[path] {
			f.done[path] = true
			f.group.End(path)
		}
	}
	if f.enabled {
		f.group.Seal()
	}
	select {
	case <-f.ended:
	case <-ctx.Done():
	case <-interrupts:
	}
	f.cancel()
	<-f.ended
	var errs []error
	for _, l := range f.lost {
		if errors.Is(l.err, fs.ErrNotExist) && !l.log.ran {
			continue // it has no log, or no longer, since before it was seen
		}
		errs = append(errs, fmt.Errorf("%s/%s: %w", pod.DisplayName(l.log.Namespace, l.log.Pod), l.log.Container, l.err))
	}
	return errs
}
