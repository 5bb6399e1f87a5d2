package filecopy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Symlinks of the path that is named are followed within the container's root.
func TestPathsStayInContainer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/secret", "of the host")
	write(t, dir+"/root/secret", "of the container")
	for _, link := range []string{"/secret", "../../../../../../secret", dir + "/secret"} {
		name := dir + "/root/link"
		_ = os.Remove(name)
		must(t, os.Symlink(link, name))
		_, err := cp(t, inContainer(t, dir+"/root"), "link", Host(), dir+"/copy", Options{})
		if err == nil && content(t, dir+"/copy") != "of the container" {
			t.Errorf("%s leads out", link)
		}
		_, err = cp(t, Host(), dir+"/secret", inContainer(t, dir+"/root"), "link", Options{})
		if err == nil && content(t, dir+"/secret") != "of the host" {
			t.Errorf("%s is written to", link)
		}
	}
	// A magic link leads anywhere.
	_, err := cp(t, inContainer(t, "/"), "/proc/self/root/etc/hostname", Host(), dir+"/copy", Options{})
	if !errors.Is(err, unix.ELOOP) {
		t.Errorf("a magic link: %v", err)
	}
}

// A directory that the container replaces by a symlink while it is copied leads nowhere:
// neither is the host's file read nor is it written.
func TestDirectorySwappedForSymlink(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/host/victim", "of the host")
	swap := func(path string) {
		must(t, os.Rename(path, path+".away"))
		must(t, os.Symlink(dir+"/host", path))
	}

	t.Run("read", func(t *testing.T) {
		write(t, dir+"/root/src/d/victim", "of the container")
		from := inContainer(t, dir+"/root")
		tree, err := from.Open(t.Context(), Place{Target: "pod", Path: "/src"})
		must(t, err)
		sink, _, err := Host().Create(t.Context(), Place{Path: dir + "/dst"}, Place{Path: "/src"})
		must(t, err)
		// After the directory was found, before it is read.
		hooked := sinkFunc{sink, func(e Entry) {
			if e.Path == "d" {
				swap(dir + "/root/src/d")
			}
		}}
		_, err = Copy(t.Context(), tree, hooked, Options{})
		if !errors.Is(err, errChanged) {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(dir + "/dst/d/victim"); err == nil {
			t.Errorf("copied %q", content(t, dir+"/dst/d/victim"))
		}
	})

	t.Run("write", func(t *testing.T) {
		write(t, dir+"/in/src/d/victim", "of the container")
		must(t, os.MkdirAll(dir+"/root2", 0o755))
		tree, err := Host().Open(t.Context(), Place{Path: dir + "/in/src"})
		must(t, err)
		sink, _, err := inContainer(t, dir+"/root2").Create(t.Context(), Place{Target: "pod", Path: "/dst"}, Place{Path: dir + "/in/src"})
		must(t, err)
		hooked := sinkFunc{sink, func(e Entry) {
			if e.Path == "d" {
				swap(dir + "/root2/dst/d")
			}
		}}
		_, err = Copy(t.Context(), tree, hooked, Options{})
		if !errors.Is(err, errRedirects) {
			t.Errorf("error %v", err)
		}
		if got := content(t, dir+"/host/victim"); got != "of the host" {
			t.Errorf("the host's file is now %q", got)
		}
	})
}

// sinkFunc calls after behind each Put.
type sinkFunc struct {
	Sink
	after func(Entry)
}

func (s sinkFunc) Put(ctx context.Context, e Entry, content io.Reader) error {
	err := s.Sink.Put(ctx, e, content)
	s.after(e)
	return err
}

// A file that grows is copied up to the size that it had; one that shrinks as it is.
func TestGrowingFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/root/log", strings.Repeat("x", 1000))
	tree, err := inContainer(t, dir+"/root").Open(t.Context(), Place{Path: "log"})
	must(t, err)
	sink, _, err := Host().Create(t.Context(), Place{Path: dir + "/copy"}, Place{Path: "log"})
	must(t, err)
	_, err = Copy(t.Context(), growing{tree, dir + "/root/log"}, sink, Options{})
	must(t, err)
	if got := len(content(t, dir+"/copy")); got != 1000 {
		t.Errorf("%d bytes", got)
	}
}

// growing appends to the file after it was looked at.
type growing struct {
	Source
	path string
}

func (g growing) Each(ctx context.Context, do func(Entry) error, failed func(error)) error {
	return g.Source.Each(ctx, func(e Entry) error {
		f, err := os.OpenFile(g.path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.Write(bytes.Repeat([]byte("y"), 5000))
			_ = f.Close()
		}
		return errors.Join(err, do(e))
	}, failed)
}

func TestCopyCancel(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/root/big", strings.Repeat("x", 3*copyChunkSize))
	ctx, cancel := context.WithCancel(t.Context())
	tree, err := inContainer(t, dir+"/root").Open(t.Context(), Place{Path: "big"})
	must(t, err)
	sink, _, err := Host().Create(t.Context(), Place{Path: dir + "/copy"}, Place{Path: "big"})
	must(t, err)
	var seen Progress
	_, err = Copy(ctx, tree, sink, Options{Progress: func(p Progress) { seen = p; cancel() }})
	if !errors.Is(err, context.Canceled) || seen.Total != 3*copyChunkSize || seen.Bytes != copyChunkSize {
		t.Errorf("%v after %+v", err, seen)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

func TestCopyLargeDirectory(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * readBatch {
		write(t, fmt.Sprintf("%s/root/src/%d", dir, i), "x")
	}
	_, err := cp(t, inContainer(t, dir+"/root"), "/src", Host(), dir+"/dst", Options{})
	must(t, err)
	if all, _ := os.ReadDir(dir + "/dst"); len(all) != 3*readBatch {
		t.Errorf("%d files", len(all))
	}
}
