package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// fakeLogRuntime is a runtime with one container, which writes to path.
type fakeLogRuntime struct {
	path     string
	failing  error
	reopened int
}

func (f *fakeLogRuntime) ContainerStatus(context.Context, string) (*pod.ContainerStatus, error) {
	return &pod.ContainerStatus{State: pod.Running, LogPath: f.path}, nil
}

func (f *fakeLogRuntime) ReopenContainerLog(context.Context, string) error {
	if f.reopened++; f.failing != nil {
		return f.failing
	}
	return os.WriteFile(f.path, nil, 0o600)
}

func TestFailedLogRotationIsReportedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log") // was removed
	rt := &fakeLogRuntime{path: path, failing: errors.New("the disk is full")}
	var events []event.Event
	rotation := newLogRotation(logrotate.Policy{MaxSize: 10, MaxFiles: 5}, rt, func(_ *v1.Pod, ev event.Event) { events = append(events, ev) })
	logs := []runningLog{{pod: &v1.Pod{}, container: "c", id: "1", path: path}}
	check := func() { rotation.check(t.Context(), logs, time.Now()) }
	check()
	check()
	if len(events) != 1 || events[0].Reason != event.FailedLogRotation || !events[0].Warning || events[0].Container != "c" {
		t.Fatalf("%+v", events)
	}
	if want := "reopen log " + path + ": the disk is full"; events[0].Text() != want {
		t.Errorf("%q, want %q", events[0].Text(), want)
	}
	rt.failing = nil
	check()
	check()
	if rt.reopened != 3 || len(events) != 1 {
		t.Errorf("reopened %d times, want once after the failures; %d events", rt.reopened, len(events))
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	rt.failing = errors.New("the disk is full")
	if check(); len(events) != 2 {
		t.Errorf("%d events after it failed again, want 2", len(events))
	}
}

// A pod that an agent with another --log-dir started writes there.
func TestLogOfAnotherDirectoryIsNotReopened(t *testing.T) {
	rt := &fakeLogRuntime{path: filepath.Join(t.TempDir(), "0.log")}
	if err := os.WriteFile(rt.path, []byte("one large line"), 0o600); err != nil {
		t.Fatal(err)
	}
	rotation := newLogRotation(logrotate.Policy{MaxSize: 100, MaxFiles: 5}, rt, func(_ *v1.Pod, ev event.Event) { t.Errorf("%+v", ev) })
	rotation.check(t.Context(), []runningLog{{pod: &v1.Pod{}, id: "1", path: "/nonexistent/0.log"}}, time.Now())
	if rt.reopened != 0 {
		t.Errorf("reopened %d times", rt.reopened)
	}
	rotation.rotator = logrotate.New(logrotate.Policy{MaxSize: 10, MaxFiles: 5})
	rotation.check(t.Context(), []runningLog{{pod: &v1.Pod{}, id: "1", path: "/nonexistent/0.log"}}, time.Now())
	files, err := filepath.Glob(rt.path + ".*")
	if err != nil || len(files) != 1 || rt.reopened != 1 {
		t.Errorf("%v %v, reopened %d times", files, err, rt.reopened)
	}
}
