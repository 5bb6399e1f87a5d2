package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// changingDir is a directory of some files that does something to them after
// each listing.
func changingDir(t *testing.T, files int, change func(dir string, n int)) Read {
	t.Helper()
	dir := t.TempDir()
	for n := range files {
		writeTo(t, filepath.Join(dir, fmt.Sprintf("%02d.yaml", n)), "a: 1\n")
	}
	n := 0
	return readDir(t.Context(), dir, func(dir string) (listing, error) {
		l, err := list(dir, false)
		n++
		change(dir, n)
		return l, err
	})
}

func writeTo(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func errorsOf(r Read) (broken []string) {
	for _, f := range r.Files {
		if f.Err != nil {
			broken = append(broken, filepath.Base(f.Name))
		}
	}
	return broken
}

func TestConstantlyTouchedFileIsRead(t *testing.T) {
	r := changingDir(t, 20, func(dir string, n int) {
		at := time.Unix(int64(1_000_000+n), 0)
		if err := os.Chtimes(filepath.Join(dir, "07.yaml"), at, at); err != nil {
			t.Error(err)
		}
	})
	if r.Err != nil || len(r.Files) != 20 || len(errorsOf(r)) != 0 {
		t.Errorf("error %v, %d files, not read %v", r.Err, len(r.Files), errorsOf(r))
	}
}

func TestConstantlyChangingFileIsAnError(t *testing.T) {
	r := changingDir(t, 20, func(dir string, n int) {
		writeTo(t, filepath.Join(dir, "07.yaml"), fmt.Sprintf("a: %d\n", n))
		at := time.Unix(int64(1_000_000+n), 0)
		if err := os.Chtimes(filepath.Join(dir, "07.yaml"), at, at); err != nil {
			t.Error(err)
		}
	})
	if broken := errorsOf(r); r.Err != nil || len(r.Files) != 20 || len(broken) != 1 || broken[0] != "07.yaml" {
		t.Errorf("error %v, %d files, not read %v", r.Err, len(r.Files), broken)
	}
}

// A file may be missed under both of its names: it is not gone before two
// listings agree.
func TestRemovedFileAfterDirectorySettles(t *testing.T) {
	r := changingDir(t, 3, func(dir string, n int) {
		name := func(n int) string { return filepath.Join(dir, fmt.Sprintf("moved-%d.yaml", n)) }
		from := name(n - 1)
		if n == 1 {
			from = filepath.Join(dir, "00.yaml")
		}
		if err := os.Rename(from, name(n)); err != nil {
			t.Error(err)
		}
	})
	if r.Err != nil || len(errorsOf(r)) == 0 {
		t.Errorf("error %v, not read %v", r.Err, errorsOf(r))
	}
	settled := changingDir(t, 3, func(dir string, n int) {
		if n == 1 {
			if err := os.Remove(filepath.Join(dir, "00.yaml")); err != nil {
				t.Error(err)
			}
		}
	})
	if settled.Err != nil || len(settled.Files) != 2 || len(errorsOf(settled)) != 0 {
		t.Errorf("error %v, %d files, not read %v", settled.Err, len(settled.Files), errorsOf(settled))
	}
}

// To open a FIFO without a writer blocks, and no signal would end the wait.
func TestFIFOIsNotOpened(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "pod.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := readPath(t.Context(), fifo, false); !errors.Is(r.Err, bounded.ErrNotRegular) {
		t.Errorf("%+v", r)
	}
	// It took the place of a file after the directory was listed.
	if f := readEntry(filepath.Dir(fifo), entry{name: "pod.yaml"}); !errors.Is(f.Err, bounded.ErrNotRegular) {
		t.Errorf("%+v", f)
	}
}

// The manifests beside a file of kustomize are not those that are to run: a directory in which
// one appears keeps the pods that it had.
func TestKustomizationStopsDirectoryFromBeingFollowed(t *testing.T) {
	dir := t.TempDir()
	writeTo(t, filepath.Join(dir, "a.yaml"), podYAML("a", "i:1"))
	if r := readPath(t.Context(), dir, false); r.Err != nil || len(r.Files) != 1 {
		t.Fatalf("%v, %d files", r.Err, len(r.Files))
	}
	for _, name := range []string{"kustomization.yaml", "Kustomization"} {
		path := filepath.Join(dir, name)
		writeTo(t, path, "resources: [a.yaml]\n")
		if r := readPath(t.Context(), dir, false); r.Err == nil || !strings.Contains(r.Err.Error(), "it has a "+name) {
			t.Errorf("%s: %v", name, r.Err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
