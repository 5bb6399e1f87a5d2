package runview

import (
	"context"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod"
)

// LogFollowers print what the containers of a run write, every attempt from
// its beginning.
type LogFollowers struct {
	ctx     context.Context
	cancel  context.CancelFunc
	path    func(p *v1.Pod, container string, attempt int32) string
	printer Printer
	enabled bool

	ended map[string]chan struct{} // by log file; closed when it is complete
	done  map[string]bool
	wg    sync.WaitGroup
}

// FollowLogs returns followers that print to p, unless enabled is false; path is
// the log file of a container. They end with ctx.
func FollowLogs(ctx context.Context, path func(*v1.Pod, string, int32) string, p Printer, enabled bool) *LogFollowers {
	ctx, cancel := context.WithCancel(ctx)
	return &LogFollowers{ctx: ctx, cancel: cancel, path: path, printer: p, enabled: enabled, ended: map[string]chan struct{}{}, done: map[string]bool{}}
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
	ended, ok := f.ended[path]
	if !ok {
		ended = make(chan struct{})
		f.ended[path] = ended
		log := cri.OpenFollower(path) // now, because the file goes with its pod
		f.wg.Go(func() {
			// A log that cannot be read is nothing to end a run for.
			_ = log.Follow(f.ctx, ended, func(l cri.LogLine) error {
				f.printer.Log(LogLine{Namespace: i.Pod.Namespace, Pod: i.Pod.Name, Container: c.Name, Stream: l.Stream, Text: l.Text})
				return f.ctx.Err() // there may be more than can ever be printed
			})
		})
	}
	if over && !f.done[path] {
		f.done[path] = true
		close(ended)
	}
}

// Wait returns when all has been printed that was written, or is cut short:
// by the user, or, if containers go on writing, after a while.
func (f *LogFollowers) Wait(interrupts <-chan os.Signal, goesOn bool) {
	for path, ended := range f.ended {
		if !f.done[path] {
			f.done[path] = true
			close(ended)
		}
	}
	printed := make(chan struct{})
	go func() {
		f.wg.Wait()
		close(printed)
	}()
	var enough <-chan time.Time
	if goesOn {
		timer := time.NewTimer(logsOfKeptPods)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-printed:
	case <-enough:
	case <-interrupts:
	}
	f.cancel()
	<-printed
}

// logsOfKeptPods is how long, at the end, what pods that are kept have written
// is still printed.
const logsOfKeptPods = time.Second
