package runview

import (
	"context"
	"os"
	"path/filepath"
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
func TestLogWithoutAnEndIsCutShort(t *testing.T) {
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
