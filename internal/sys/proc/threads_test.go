package proc

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestThreadsHaveStatesOfTheirOwn(t *testing.T) {
	root := FS(t.TempDir())
	for _, dir := range []string{"10/task/10", "10/task/11"} {
		if err := os.MkdirAll(filepath.Join(string(root), dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	fake(t, root, 10, map[string]string{
		"task/10/stat": "10 (runc) S 1 1", "task/10/wchan": "futex_wait_queue",
		"task/11/stat": "11 (runc) D 1 1", "task/11/wchan": "request_wait_answer",
	})
	got, err := root.Threads(10)
	slices.SortFunc(got, func(a, b Thread) int { return len(a.WaitChannel) - len(b.WaitChannel) })
	if want := []Thread{{10, Sleeping, "futex_wait_queue"}, {11, Uninterruptible, "request_wait_answer"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := root.Threads(12); !errors.Is(err, ErrGone) {
		t.Errorf("absent process: %v", err)
	}
}
