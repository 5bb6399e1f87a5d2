package volume

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

// look reads what the paths lead to, and the modes of the files.
func look(t testing.TB, dir string, paths []string) files {
	t.Helper()
	seen := files{}
	for _, path := range paths {
		at := filepath.Join(dir, path)
		data, err := os.ReadFile(at)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
			continue
		}
		info, statErr := os.Stat(at)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		seen[path] = file{data: data, mode: info.Mode()}
	}
	return seen
}

func sameFiles(a, b files) bool {
	return maps.EqualFunc(a, b, func(x, y file) bool { return string(x.data) == string(y.data) && x.mode == y.mode })
}

var atomicPaths = []string{"a", "b", "c", "d", "a/x", "a/y/z", "b/x", ".hidden", "..2", "q..r"}

// aPayload has no file that is a directory of another one's path.
func aPayload(t *rapid.T) files {
	p := files{}
	for _, path := range atomicPaths {
		if path == "..2" || rapid.IntRange(0, 2).Draw(t, path) == 0 {
			continue
		}
		conflict := false
		for other := range p {
			conflict = conflict || strings.HasPrefix(path, other+"/") || strings.HasPrefix(other, path+"/")
		}
		if !conflict {
			p[path] = file{
				data: []byte(rapid.SampledFrom([]string{"", "1", "22"}).Draw(t, "data")),
				mode: rapid.SampledFrom([]fs.FileMode{0o644, 0o400, 0o777}).Draw(t, "mode"),
			}
		}
	}
	return p
}

// TestUpdateIsAtomic writes one payload after the other, some of
// them by a podctl that dies after some step. At every step, a reader that goes
// through ..data sees all files of one payload and none of another; a reader that
// goes by the names sees one of its files, or none that has just come or gone;
// and an update that comes to its end leaves nothing else behind.
func TestUpdateIsAtomic(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		shown := files{}
		for range rapid.IntRange(1, 8).Draw(rt, "updates") {
			want := aPayload(rt)
			given := 0
			u, err := newUpdate(dir, want, func() error { given++; return nil })
			if err != nil {
				rt.Fatal(err)
			}
			steps := u.steps()
			dies := rapid.IntRange(0, 2*len(steps)).Draw(rt, "dies after")
			for i, step := range steps[:min(dies, len(steps))] {
				if err := step(); err != nil {
					rt.Fatalf("step %d: %v", i, err)
				}
				now := look(t, filepath.Join(dir, dataName), atomicPaths)
				if !sameFiles(now, shown) {
					if i != 5 || given != 1 {
						rt.Fatalf("after step %d, owner given %d times, ..data has %v, want %v", i, given, now, shown)
					}
					if shown = now; !sameContent(now, want) {
						rt.Fatalf("..data has %v, want %v", now, want)
					}
				}
				for path, f := range look(t, dir, atomicPaths) {
					if g := shown[path]; string(g.data) != string(f.data) || g.mode != f.mode {
						rt.Fatalf("after step %d, %s is %v, want %v", i, path, f, g)
					}
				}
			}
			if dies < len(steps) {
				if rapid.Bool().Draw(rt, "in the middle of a write") {
					write(t, filepath.Join(dir, "..2026_01_02_03_04_05.1", "half"), "of it")
				}
				continue
			}
			if !sameContent(look(t, dir, atomicPaths), want) {
				rt.Fatalf("by their names: %v, want %v", look(t, dir, atomicPaths), want)
			}
			if left := remains(t, dir, want); len(left) > 0 {
				rt.Fatalf("left behind: %v", left)
			}
		}
	})
}

// sameContent compares all but modes: those change only with other contents.
func sameContent(a, b files) bool {
	return maps.EqualFunc(a, b, func(x, y file) bool { return string(x.data) == string(y.data) })
}

// remains are what lies in a volume beside what belongs there.
func remains(t testing.TB, dir string, want files) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	current, err := os.Readlink(filepath.Join(dir, dataName))
	if err != nil {
		t.Fatal(err)
	}
	belongs := []string{dataName, current}
	for path := range want {
		belongs = append(belongs, firstOf(path))
	}
	var left []string
	for _, e := range entries {
		if !slices.Contains(belongs, e.Name()) {
			left = append(left, e.Name())
		}
	}
	return left
}

func noOwner() error { return nil }

func TestUnchangedUpdateWritesNothing(t *testing.T) {
	dir := t.TempDir()
	want := files{"a": {data: []byte("1"), mode: 0o644}, "d/e": {data: []byte("2"), mode: 0o400}}
	var links []string
	for range 2 {
		if err := writeFiles(dir, want, noOwner); err != nil {
			t.Fatal(err)
		}
		to, err := os.Readlink(filepath.Join(dir, dataName))
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, to)
	}
	if links[0] != links[1] {
		t.Errorf("the files were written again: %v", links)
	}
	if err := writeFiles(dir, files{"a": want["a"]}, noOwner); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "d")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("d is still there: %v", err)
	}
}

func TestLayoutMatchesKubelet(t *testing.T) {
	dir := t.TempDir()
	if err := writeFiles(dir, files{"a": {mode: 0o640}, "d/e/f": {mode: 0o400}, "d/g": {mode: 0o755}}, noOwner); err != nil {
		t.Fatal(err)
	}
	stamped, err := os.Readlink(filepath.Join(dir, "..data"))
	if err != nil || !isStamped(stamped) {
		t.Fatalf("..data leads to %q, %v", stamped, err)
	}
	for name, to := range map[string]string{"a": "..data/a", "d": "..data/d"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != to {
			t.Errorf("%s leads to %q, %v, want %q", name, got, err, to)
		}
	}
	for path, mode := range map[string]fs.FileMode{
		"": fs.ModeDir | 0o755, "a": 0o640, "d": fs.ModeDir | 0o755, "d/e": fs.ModeDir | 0o755, "d/e/f": 0o400, "d/g": 0o755,
	} {
		diff(t, "mode of "+path, mode, modeOf(t, filepath.Join(dir, stamped, path)))
	}
}

// TestOtherVolumesMountPointStays: what the runtime mounts in a volume
// needs a directory there, which is no file of the volume.
func TestOtherVolumesMountPointStays(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "nested"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, want := range []files{{"a": {}}, {"a": {}, "nested": {}}, {"b": {}}} {
		if err := writeFiles(dir, want, noOwner); err != nil {
			t.Fatal(err)
		}
		diff(t, "mode", fs.ModeDir|0o755, modeOf(t, filepath.Join(dir, "nested")))
	}
}

func TestInvalidFilePaths(t *testing.T) {
	for path, want := range map[string]string{
		"":                         `invalid path: must not be empty: ""`,
		".":                        `invalid path: must not be empty: "."`,
		"/a":                       "invalid path: must be relative path: /a",
		"a/../b":                   "invalid path: must not contain '..': a/../b",
		"..":                       "invalid path: must not contain '..': ..",
		"..a":                      "invalid path: must not start with '..': ..a",
		"./..data":                 "invalid path: must not start with '..': ./..data",
		strings.Repeat("a", 256):   "invalid path: filenames must be less than or equal to 255 characters",
		strings.Repeat("a/", 2049): "invalid path: must be less than or equal to 4096 characters",
	} {
		if err := writeFiles(t.TempDir(), files{path: {}}, noOwner); err == nil || err.Error() != want {
			t.Errorf("%.20q: error %v, want %q", path, err, want)
		}
	}
}

func TestDataLinkOutsideVolumeIsRefused(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "precious"), "keep me")
	if err := os.Symlink(outside, filepath.Join(dir, dataName)); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, files{"a": {}}, noOwner); err == nil || !strings.Contains(err.Error(), "not one of its directories") {
		t.Errorf("error %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "precious")); err != nil || string(b) != "keep me" {
		t.Errorf("%q, %v", b, err)
	}
}
