package filecopy

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// onHost runs the commands of a Tar on this host.
func onHost(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func copyTar(t *testing.T, from End, src string, to End, dst string) (Place, error) {
	t.Helper()
	source := Place{Path: src}
	s, err := from.Open(t.Context(), source)
	if err != nil {
		return source, err
	}
	sink, made, err := to.Create(t.Context(), Place{Path: dst}, source)
	if err != nil {
		return made, err
	}
	_, err = Copy(t.Context(), s, sink, Options{Name: src})
	return made, err
}

// Without a way to the files themselves, tar in the container serves both ways.
func TestCopyWithTar(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	write(t, dir+"/src/a/file", "content")
	must(t, os.Link(dir+"/src/a/file", dir+"/src/hard"))
	must(t, os.Symlink("a/file", dir+"/src/link"))
	must(t, os.Chmod(dir+"/src/a/file", 0o640))
	container := &Tar{Exec: onHost}
	same := func(root string) {
		t.Helper()
		var file, hard unix.Stat_t
		must(t, unix.Stat(root+"/a/file", &file))
		must(t, unix.Stat(root+"/hard", &hard))
		target, _ := os.Readlink(root + "/link")
		if content(t, root+"/hard") != "content" || file.Ino != hard.Ino || file.Mode&0o777 != 0o640 || target != "a/file" {
			t.Errorf("%s is not the same", root)
		}
	}
	for name, ends := range map[string][2]End{"out": {container, Host()}, "in": {Host(), container}} {
		made, err := copyTar(t, ends[0], dir+"/src", ends[1], dir+"/"+name)
		must(t, err)
		same(made.Path)
		made, err = copyTar(t, ends[0], dir+"/src", ends[1], dir+"/"+name) // now into it
		must(t, err)
		if made.Path != dir+"/"+name+"/src" {
			t.Errorf("%s: made %s", name, made)
		}
		same(made.Path)
		made, err = copyTar(t, ends[0], dir+"/src/a/file", ends[1], dir+"/"+name+"/renamed")
		must(t, err)
		if content(t, made.Path) != "content" {
			t.Errorf("%s: %s", name, made)
		}
	}
	if _, err := copyTar(t, container, dir+"/missing", Host(), dir+"/x"); !errors.As(err, new(*ExitError)) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := copyTar(t, Host(), dir+"/src", container, dir+"/no/such/"); err == nil {
		t.Error("no error for a directory that is not there")
	}
}

// What is not the file that was asked for is not copied.
func TestArchiveOfAnotherFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	container := &Tar{Exec: func(_ context.Context, command []string, _ io.Reader, stdout, _ io.Writer) (int, error) {
		if command[0] == "test" {
			return 1, nil // no directory
		}
		w := tar.NewWriter(stdout)
		for _, name := range []string{"other", "srcother", "src/../other"} {
			if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644}); err != nil {
				return 1, nil
			}
		}
		return 0, w.Close()
	}}
	if _, err := copyTar(t, container, "/src", Host(), dir+"/dst"); err == nil || strings.Count(err.Error(), "outside of what is copied") != 3 {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A container may send any archive.
func TestHostileArchiveStaysInTarget(t *testing.T) {
	for name, entries := range map[string][]tar.Header{
		"up":            {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./../../victim", Typeflag: tar.TypeReg, Size: 4}},
		"absolute":      {{Name: "/victim", Typeflag: tar.TypeReg, Size: 4}},
		"other":         {{Name: "victim/../../victim", Typeflag: tar.TypeReg, Size: 4}},
		"symlink":       {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./d", Typeflag: tar.TypeSymlink, Linkname: "../.."}, {Name: "./d/victim", Typeflag: tar.TypeReg, Size: 4}},
		"hard link":     {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./h", Typeflag: tar.TypeLink, Linkname: "../victim"}},
		"symlink twice": {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./d", Typeflag: tar.TypeSymlink, Linkname: "../../victim"}, {Name: "./d", Typeflag: tar.TypeReg, Size: 4}},
		"dots":          {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./..", Typeflag: tar.TypeSymlink, Linkname: "x"}},
		"device":        {{Name: "./", Typeflag: tar.TypeDir}, {Name: "./null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
	} {
		dir := t.TempDir()
		write(t, dir+"/victim", "safe")
		must(t, os.Mkdir(dir+"/dst", 0o755))
		container := &Tar{Exec: func(_ context.Context, _ []string, _ io.Reader, stdout, _ io.Writer) (int, error) {
			w := tar.NewWriter(stdout)
			for _, h := range entries {
				h.Mode = 0o644
				if err := w.WriteHeader(&h); err != nil {
					return 1, nil
				}
				if h.Size > 0 {
					_, _ = io.WriteString(w, "evil") // the reader may be gone
				}
			}
			return 0, w.Close()
		}}
		_, err := copyTar(t, container, "/src", Host(), dir+"/dst")
		if err == nil && name != "symlink twice" {
			t.Errorf("%s: no error", name)
		}
		if got := content(t, dir+"/victim"); got != "safe" {
			t.Errorf("%s: the victim is %q (%v)", name, got, err)
		}
		if left, _ := filepath.Glob(dir + "/*"); len(left) != 2 {
			t.Errorf("%s: %v", name, left)
		}
	}
}
