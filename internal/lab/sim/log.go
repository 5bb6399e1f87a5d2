package sim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerLog writes what a container says in the CRI's format.
type containerLog struct {
	clock func() time.Time
	path  string

	mu   sync.Mutex
	file *os.File // nil where nothing is logged
	// attached are told of all that is written.
	attached map[int]func(stream, text string)
	lastID   int
}

// attach calls show with all that is written from now on, until detach is called.
func (l *containerLog) attach(show func(stream, text string)) (detach func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.attached == nil {
		l.attached = map[int]func(stream, text string){}
	}
	l.lastID++
	id := l.lastID
	l.attached[id] = show
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.attached, id)
	}
}

// openLog creates or goes on with the log file. Without a path it discards.
func openLog(path string, clock func() time.Time) (*containerLog, error) {
	l := &containerLog{clock: clock, path: path}
	return l, l.reopen()
}

func (l *containerLog) reopen() error {
	if l.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file = f
	return nil
}

// write logs text on a stream, a line for each line; the last is partial if it
// has no end.
func (l *containerLog) write(stream, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, show := range l.attached {
		show(stream, text)
	}
	if l.file == nil {
		return
	}
	var b bytes.Buffer
	for line := range bytes.Lines([]byte(text)) {
		tag := "F"
		if !bytes.HasSuffix(line, []byte("\n")) {
			tag, line = "P", append(line, '\n')
		}
		fmt.Fprintf(&b, "%s %s %s %s", l.clock().Format(time.RFC3339Nano), stream, tag, line)
	}
	_, _ = l.file.Write(b.Bytes())
}

func (l *containerLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}

// ReopenContainerLog makes a running container write to a new file.
func (r *Runtime) ReopenContainerLog(_ context.Context, req *runtimeapi.ReopenContainerLogRequest) (*runtimeapi.ReopenContainerLogResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.container(req.ContainerId)
	if c == nil {
		return nil, errorf(codes.NotFound, "an error occurred when try to find container %q: not found", req.ContainerId)
	}
	if c.state != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, errorf(codes.Unknown, "container is not running")
	}
	if err := c.process.log.reopen(); err != nil {
		return nil, errorf(codes.Unknown, "%v", err)
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}
