package volume

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUsageStopsAtLimit(t *testing.T) {
	seen := 0
	used, err := measure(100, func(visit visitFunc) error {
		for { // a container makes files faster than they are read
			seen++
			if err := visit(0, "f", &unix.Statx_t{Blocks: 1, Nlink: 1}); err != nil {
				return fmt.Errorf("at depth 1: %w", err)
			}
			if seen > 10 {
				return errors.New("the walk goes on")
			}
		}
	})
	if used != 512 || err != nil || seen != 1 {
		t.Errorf("usage %d, %v after %d files", used, err, seen)
	}
}

func TestUsageRemeasuresMovedDirectories(t *testing.T) {
	for _, c := range []struct {
		moved, walks int
		used         int64
		err          error
	}{
		{moved: 0, walks: 1, used: 1024},
		{moved: 2, walks: 3, used: 1024},
		{moved: 100, walks: maxMeasures, used: 512, err: errMoved},
	} {
		walks := 0
		used, err := measure(math.MaxInt64, func(visit visitFunc) error {
			walks++
			file := &unix.Statx_t{Blocks: 1, Nlink: 1}
			err := visit(0, "f", file)
			if walks <= c.moved {
				return errors.Join(err, errMoved)
			}
			return errors.Join(err, visit(0, "g", file))
		})
		if used != c.used || !errors.Is(err, c.err) || walks != c.walks {
			t.Errorf("moved %d times: usage %d, %v after %d walks", c.moved, used, err, walks)
		}
	}
}

func TestWalkSkipsTooDeep(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 10, true)
	write(t, filepath.Join(dir, "z/file"), "")
	for _, skip := range []bool{false, true} {
		seen := map[string]int{}
		err := (&walker{maxLevels: 3, skipDeep: skip, visit: func(_ int, name string, _ *unix.Statx_t) error {
			seen[name]++
			return nil
		}}).walk(t.Context(), dir)
		if !skip {
			if !errors.Is(err, errTooDeep) {
				t.Errorf("error %v, want %v", err, errTooDeep)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		diff(t, "visited", map[string]int{".": 1, "d": 3, "f": 2, "z": 1, "file": 1}, seen)
	}
}

// Files of an overlay whose layers lie on several file systems have devices
// other than that of their directory.
func TestWalkOverlayLayers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	base := t.TempDir()
	dir := func(name string) string { return filepath.Join(base, name) }
	mount := func(source, at, kind, data string) {
		t.Helper()
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount(source, at, kind, 0, data); err != nil {
			t.Skipf("mount %s: %v", kind, err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(at, 0); err != nil {
				t.Error(err)
			}
		})
	}
	mount("tmpfs", dir("one"), "tmpfs", "")
	mount("tmpfs", dir("two"), "tmpfs", "")
	write(t, dir("one/lower/old"), strings.Repeat("x", 1<<20))
	if err := errors.Join(os.Mkdir(dir("two/upper"), 0o755), os.Mkdir(dir("two/work"), 0o755)); err != nil {
		t.Fatal(err)
	}
	mount("overlay", dir("merged"), "overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s,xino=off", dir("one/lower"), dir("two/upper"), dir("two/work")))
	write(t, dir("merged/d/new"), strings.Repeat("x", 1<<20))
	mount("tmpfs", dir("merged/d/m"), "tmpfs", "")
	write(t, dir("merged/d/m/foreign"), strings.Repeat("x", 1<<20))

	if used, err := usage(t.Context(), dir("merged"), math.MaxInt64); err != nil || used < 2<<20 || used >= 3<<20 {
		t.Errorf("usage %d, %v", used, err)
	}
	if err := giveTo(t.Context(), dir("merged"), new(int64(5000)), readWrite); err != nil {
		t.Error(err)
	}
	if got := modeOf(t, dir("merged/d/new")); got.Perm() != 0o664 {
		t.Errorf("mode %v of a file given to the group", got)
	}
	if got := modeOf(t, dir("merged/d/m/foreign")); got.Perm() != 0o644 {
		t.Errorf("mode %v of a file on another mount", got)
	}
}

func TestInterruptedCallsAreRetried(t *testing.T) {
	calls := 0
	got, err := ignoringEINTR(func() (int, error) {
		if calls++; calls < 3 {
			return -1, unix.EINTR
		}
		return calls, unix.ENOENT
	})
	if got != 3 || !errors.Is(err, unix.ENOENT) {
		t.Errorf("%d, %v", got, err)
	}
}
