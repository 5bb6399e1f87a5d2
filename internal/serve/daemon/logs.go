package daemon

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// logPeriod is how often log sizes are checked (ContainerLogMonitorInterval in
// pkg/kubelet/apis/config).
const logPeriod = 10 * time.Second

// runningLog is the log of a running container.
type runningLog struct {
	pod           *v1.Pod
	container, id string
	// path is where podctl has it written.
	path string
}

// logRuntime is what rotations need of the runtime.
type logRuntime interface {
	ContainerStatus(ctx context.Context, id string) (*pod.ContainerStatus, error)
	ReopenContainerLog(ctx context.Context, id string) error
}

// logRotation rotates the logs of running containers. It is used by one goroutine.
type logRotation struct {
	rotator *logrotate.Rotator
	runtime logRuntime
	report  func(*v1.Pod, event.Event)
	// failed are the last errors, by container id: each is reported once.
	failed map[string]string
}

func newLogRotation(policy logrotate.Policy, runtime logRuntime, report func(*v1.Pod, event.Event)) *logRotation {
	return &logRotation{rotator: logrotate.New(policy), runtime: runtime, report: report, failed: map[string]string{}}
}

// check rotates the logs that are too large.
func (r *logRotation) check(ctx context.Context, logs []runningLog, now time.Time) {
	failed, paths := map[string]string{}, map[string]bool{}
	for _, l := range logs {
		err := r.rotate(ctx, &l, now)
		paths[l.path] = true
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			continue
		}
		failed[l.id] = err.Error()
		if failed[l.id] != r.failed[l.id] {
			r.report(l.pod, event.Event{
				Reason: event.FailedLogRotation, Warning: true, Container: l.container,
				Failure: &event.Failure{Layer: event.LayerHost, Text: failed[l.id]},
			})
		}
	}
	r.failed = failed
	r.rotator.ForgetExcept(paths)
}

// rotate rotates a log if it is too large. Where it is not, the runtime is asked for its
// path: it may have been started with another directory for logs.
func (r *logRotation) rotate(ctx context.Context, l *runningLog, now time.Time) error {
	if r.rotator.IsIdle(l.path) {
		return nil
	}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		status, err := r.runtime.ContainerStatus(ctx, l.id)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && (status.State != pod.Running || status.LogPath == ""):
			return nil
		case err != nil:
			return err
		}
		l.path = status.LogPath
	}
	return r.rotator.Rotate(ctx, l.path, now, func(ctx context.Context) error { return r.runtime.ReopenContainerLog(ctx, l.id) })
}

// rotateLogs rotates the logs of running containers every logPeriod.
func (s *Session) rotateLogs(ctx context.Context, policy logrotate.Policy) {
	rotation := newLogRotation(policy, s.Client, s.Report)
	ticker := time.NewTicker(logPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		rotation.check(ctx, s.runningLogs(), time.Now())
	}
}

// runningLogs returns the logs of the running containers of this podctl.
func (s *Session) runningLogs() []runningLog {
	listed := map[types.UID]*pod.Pod{}
	for _, p := range s.RuntimePods() {
		listed[p.UID] = p
	}
	var logs []runningLog
	for _, i := range s.Pods() {
		p := listed[i.Pod.UID]
		if p == nil || i.Rejected != nil {
			continue
		}
		for _, c := range p.Containers {
			if c.State == pod.Running {
				logs = append(logs, runningLog{pod: i.Pod, container: c.Name, id: c.ID, path: s.LogFile(i.Pod, c.Name, int32(c.Attempt))})
			}
		}
	}
	return logs
}

// LogFile returns the path of the log file of an attempt of a container.
func (s *Session) LogFile(p *v1.Pod, container string, attempt int32) string {
	return filepath.Join(s.Facts.LogDirectory(p), render.LogPath(container, uint32(attempt)))
}

// LastLine returns the last line that the container of an event wrote, without values
// of its pod's Secrets, "" if it wrote none.
func (s *Session) LastLine(ev event.Event) string {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ev.Namespace, Name: ev.Name, UID: ev.UID}}
	lines, err := logs.Collect(s.LogFile(p, ev.Container, ev.Attempt), logs.Options{Tail: 1})
	if err != nil || len(lines) == 0 {
		return ""
	}
	return s.MaskedText(ev.UID, string(lines[0].Text))
}
