package runview

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/node"
)

// endlessLog is a printer of a container that writes a line for each that is
// printed.
type endlessLog struct {
	Printer
	file *os.File
}

const logged = "2026-01-02T03:04:05Z stdout F more\n"

func (p *endlessLog) Log(LogLine) { _, _ = p.file.WriteString(logged) }

// Who writes faster than can be printed does not keep podctl from ending.
func TestEndlessLogIsCutShort(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	printer := &endlessLog{file: file}
	printer.Log(LogLine{})
	path := func(*v1.Pod, string, int32) string { return file.Name() }
	running := v1.ContainerStatus{Name: "c", ContainerID: "sim://1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	info := node.Info{
		Pod:    &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
		Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{running}},
	}
	for _, kept := range []bool{true, false} {
		f := FollowLogs(t.Context(), LogOptions{Path: path, Printer: printer})
		f.Follow([]node.Info{info})
		interrupts := make(chan os.Signal, 1)
		if !kept {
			interrupts <- os.Interrupt
		}
		returned := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		if kept {
			cancel() // the time for the logs of kept pods is over
		}
		go func() {
			defer cancel()
			f.Wait(ctx, interrupts)
			close(returned)
		}()
		select {
		case <-returned:
		case <-time.After(30 * time.Second):
			t.Fatalf("kept=%v: it never ends", kept)
		}
	}
}

// logLines is a printer that keeps what containers wrote.
type logLines struct {
	Printer
	lines chan string
}

func (p logLines) Log(l LogLine) { p.lines <- l.Pod + "/" + l.Container + " " + string(l.Text) }

// A log that cannot be opened at first is printed once it can be; of one that never can,
// or that is gone, the run says so, unless its container has not run.
func TestUnreadableLogIsRetriedThenReported(t *testing.T) {
	dir := t.TempDir()
	path := func(_ *v1.Pod, container string, _ int32) string { return filepath.Join(dir, container) }
	link := func(container string) {
		if err := os.Symlink("/dev/null", path(nil, container, 0)); err != nil {
			t.Fatal(err)
		}
	}
	link("late")
	link("never")
	printer := logLines{lines: make(chan string, 10)}
	f := FollowLogs(t.Context(), LogOptions{Path: path, Printer: printer})
	ended := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{StartedAt: metav1.Now()}}
	info := node.Info{Pod: &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}}
	for name, state := range map[string]v1.ContainerState{
		"late": ended, "never": ended, "gone": ended, "unstarted": {Terminated: &v1.ContainerStateTerminated{}},
	} {
		info.Status.ContainerStatuses = append(info.Status.ContainerStatuses, v1.ContainerStatus{Name: name, ContainerID: "sim://" + name, State: state})
	}
	f.Follow([]node.Info{info})
	if err := os.Remove(path(nil, "late", 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path(nil, "late", 0), []byte(logged), 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-printer.lines:
		if got != "web/late more" {
			t.Errorf("printed %q", got)
		}
	case <-time.After(30 * time.Second):
		t.Error("the late log is not printed")
	}
	var lost []string
	for _, err := range f.Wait(t.Context(), nil) {
		lost = append(lost, err.Error())
	}
	slices.Sort(lost)
	want := []string{
		"default/web/gone: read log " + path(nil, "gone", 0) + ": file does not exist",
		"default/web/never: read log " + path(nil, "never", 0) + ": not a regular file",
	}
	if !slices.Equal(lost, want) {
		t.Errorf("lost %q, want %q", lost, want)
	}
}
