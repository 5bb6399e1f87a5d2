package node

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// violation is an invariant that does not hold, and how that showed.
type violation struct{ Invariant, Text string }

func (v violation) String() string { return v.Invariant + ": " + v.Text }

// outcome is what a history led to.
type outcome struct {
	// Violations are empty if every invariant held; the first one ends a history.
	Violations []violation
	// Log has a line for each act and event.
	Log []string
}

// recorder is a test that keeps what fails and what is logged, so that the history can
// be shrunk and played again.
type recorder struct {
	testing.TB // that of the bubble
	// root is the directory of the history's files.
	root string

	mu  sync.Mutex
	out outcome
}

// violate reports that an invariant does not hold.
func violate(t testing.TB, invariant, format string, args ...any) {
	t.Helper()
	if r, ok := t.(*recorder); ok {
		r.record(violation{invariant, fmt.Sprintf(format, args...)})
		return
	}
	t.Errorf(invariant+": "+format, args...)
}

func (r *recorder) record(v violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Violations = append(r.out.Violations, v)
}

func (r *recorder) Error(args ...any) { violate(r, nothingElseFails, "%s", fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) { violate(r, nothingElseFails, format, args...) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.out.Violations) > 0
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out.Log = append(r.out.Log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// TempDir makes a directory that goes with the history's.
func (r *recorder) TempDir() string {
	dir, err := os.MkdirTemp(r.root, "")
	if err != nil {
		r.Fatal(err)
	}
	return dir
}
