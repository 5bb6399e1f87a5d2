package runview

import (
	"context"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/logs"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// LogFollowers print what the containers of a run write, every attempt from
// its beginning.
type LogFollowers struct {
	cancel  context.CancelFunc
	path    func(p *v1.Pod, container string, attempt int32) string
	enabled bool

	group *logs.Group
	// followed are the containers by their log files; done those that have ended.
	followed map[string]LogLine
	done     map[string]bool
	ended    chan struct{}
}

// LogOptions say what LogFollowers print.
type LogOptions struct {
	// Path is the log file of a container.
	Path    func(p *v1.Pod, container string, attempt int32) string
	Printer Printer
	// Disabled: nothing is printed.
	Disabled bool
	// Room waits until a line can be printed, or ctx ends: what containers wrote is in
	// their files, and need not be dropped. nil does not wait.
	Room func(ctx context.Context)
}

// FollowLogs returns followers that end with ctx.
func FollowLogs(ctx context.Context, o LogOptions) *LogFollowers {
	ctx, cancel := context.WithCancel(ctx)
	f := &LogFollowers{cancel: cancel, path: o.Path, enabled: !o.Disabled, followed: map[string]LogLine{}, done: map[string]bool{}, ended: make(chan struct{})}
	if o.Disabled {
		close(f.ended) // nothing is watched
		return f
	}
	f.group = logs.NewGroup(logs.GroupOptions{PollOnly: true, Each: func(of any, l logs.Line) error {
		line := of.(LogLine)
		line.Stream, line.Text = l.Stream.String(), l.Text
		if o.Room != nil {
			o.Room(ctx)
		}
		o.Printer.Log(line)
		return ctx.Err() // there may be more than can ever be printed
	}})
	go func() {
		defer close(f.ended)
		// A log that cannot be read is no reason to end a run.
		_ = f.group.Run(ctx)
		f.group.Close()
	}()
	return f
}

// Follow begins with the logs that are new, and ends with those whose
// container has ended.
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
				f.file(i, c, attempt, over)
			}
		}
	}
}

func (f *LogFollowers) file(i node.Info, c v1.ContainerStatus, attempt int32, over bool) {
	path := f.path(i.Pod, c.Name, attempt)
	if _, ok := f.followed[path]; !ok {
		f.followed[path] = LogLine{Namespace: i.Pod.Namespace, Pod: i.Pod.Name, Container: c.Name}
		// Opened now, because the file is removed with its pod. One that cannot be read is
		// no reason to end a run.
		_ = f.group.Add(path, f.followed[path], path, logs.Options{Tail: -1, Follow: true})
	}
	if over && !f.done[path] {
		f.done[path] = true
		f.group.End(path)
	}
}

// Wait returns when everything that was written is printed, or earlier: on an
// interrupt, or when ctx ends.
func (f *LogFollowers) Wait(ctx context.Context, interrupts <-chan os.Signal) {
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
}
