package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// trees are directories as containers have them, by the name of a test. Text that begins with
// -> is a symlink, with = a hard link to another file of the tree, a name with a slash at its
// end a directory.
var trees = map[string]map[string]string{
	"hidden files": {
		"bashrc": "visible", ".bashrc": "hidden", ".ssh/id": "key", ".ssh/.lock": "", "data": "1", ".data": "2", "..data": "3", "...": "4", ".d/": "",
		"..2024/value": "v", "sub/.env": "e", "sub/env": "f",
	},
	"projected volume": {"..2024_01/key": "value", "..data": "->..2024_01", "key": "->..data/key"},
	"hard links": {
		".profile": "p", "profile": "=.profile", ".dir/.one": "=.profile", "a": "x", ".b": "=a", "..c": "=a", "sub/d": "=a",
	},
	"symlinks": {
		"absolute": "->/etc/passwd", "up": "->../../..", "dangling": "->nowhere", ".hidden": "->file", "file": "f", "dir": "->sub", "sub/x": "y", "self": "->.",
	},
	"names": {
		"-rf": "dash", "with space": "s", "new\nline": "n", "star*": "*", `back\slash`: "b", "colon:x": "c", "umläut": "u", "not\xffutf8": "8", " ": "blank", "tab\t": "t",
		strings.Repeat("long", 50): "l", strings.Repeat("deep/", 60) + "file": "d", ".": "",
	},
	"empty": {},
}

// grow makes a tree in a directory.
func grow(t *testing.T, dir string, tree map[string]string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	var links []string
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		text, at := tree[name], dir+"/"+name
		if name == "." {
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(at, 0o750))
		case strings.HasPrefix(text, "->"):
			must(t, os.Symlink(text[2:], at))
		case strings.HasPrefix(text, "="):
			links = append(links, name)
		default:
			write(t, at, text)
			must(t, os.Chmod(at, 0o640))
			must(t, os.Chtimes(at, time.Time{}, time.Unix(1000000000+int64(len(text)), 0)))
		}
	}
	for _, name := range links {
		must(t, os.Link(dir+"/"+tree[name][1:], dir+"/"+name))
	}
}

// look returns what is at a path, a line for each file: mode, content or target, and the first
// path that is the same file.
func look(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	first := map[uint64]string{}
	must(t, filepath.WalkDir(root, func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, at)
		line := fmt.Sprintf("%q %o", rel, st.Mode)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			line += fmt.Sprintf(" %q at %d", content(t, at), st.Mtim.Sec)
		case unix.S_IFLNK:
			target, _ := os.Readlink(at)
			line += " -> " + target
		}
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
			if first[st.Ino] == "" {
				first[st.Ino] = rel
			}
			line += fmt.Sprintf(" is %q", first[st.Ino])
		}
		lines = append(lines, line)
		return nil
	}))
	return lines
}

// chrooted runs the commands of a Tar in a directory, as in a container whose root it is and
// whose working directory is another one.
func chrooted(dir string) Exec {
	return func(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
		command = slices.Clone(command)
		for i, argument := range command {
			if strings.HasPrefix(argument, "/") {
				command[i] = dir + argument
			}
		}
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir+"/work", stdin, stdout, stderr
		err := cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return exit.ExitCode(), nil
		}
		return 0, err
	}
}

// A container is read below its root directory or by tar, and written by both: the copy is the
// same.
func TestBothWaysCopyTheSameTree(t *testing.T) {
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.MkdirAll(dir+"/root/work", 0o755))
			grow(t, dir+"/root/src", tree)
			must(t, os.Symlink("src", dir+"/root/link"))
			want := look(t, dir+"/root/src")
			ends := map[string]End{"root": inContainer(t, dir+"/root"), "tar": &Tar{Exec: chrooted(dir + "/root")}}
			for way, end := range ends {
				for i, path := range []string{"/src", "/src/", "/src/.", "src", "/link", "/link/.", "/src/../src", "/work/../link/"} {
					to := fmt.Sprintf("%s/%s-%d", dir, way, i)
					if strings.HasSuffix(path, "/.") {
						must(t, os.Mkdir(to, 0o755))
					}
					made, err := copyTar(t, end, path, Host(), to)
					if err != nil {
						t.Errorf("out by %s, %s: %v", way, path, err)
						continue
					}
					if got := look(t, made.Path); !slices.Equal(got, want) {
						t.Errorf("out by %s, %s:\n%s\nwant\n%s", way, path, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
				if _, err := copyTar(t, Host(), dir+"/root/src", end, "in-"+way); err != nil {
					t.Errorf("in by %s: %v", way, err)
					continue
				}
				if got := look(t, dir+"/root/in-"+way); !slices.Equal(got, want) {
					t.Errorf("in by %s:\n%s\nwant\n%s", way, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

func TestBothWaysCopyTheSameFile(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir+"/root", map[string]string{".env": "hidden", "env": "visible", "link": "->env", ".l": "->.env", "d/x": "->../.env", "work/": ""})
	for way, end := range map[string]End{"root": inContainer(t, dir+"/root"), "tar": &Tar{Exec: chrooted(dir + "/root")}} {
		for path, want := range map[string]string{"/.env": "hidden", "/env": "visible", ".env": "hidden", "/link": "visible", "/.l": "hidden", "/d/x": "hidden", "/d/../.env": "hidden"} {
			made, err := copyTar(t, end, path, Host(), dir+"/copy")
			if err != nil {
				t.Errorf("%s by %s: %v", path, way, err)
				continue
			}
			if st, err := os.Lstat(made.Path); err != nil || !st.Mode().IsRegular() || content(t, made.Path) != want {
				t.Errorf("%s by %s: %v %v, want a file with %q", path, way, st, err, want)
			}
			must(t, os.RemoveAll(dir+"/copy"))
		}
		for _, path := range []string{"/missing", "/env/", "/env/."} {
			if _, err := copyTar(t, end, path, Host(), dir+"/copy"); err == nil {
				t.Errorf("%s by %s: no error", path, way)
			}
		}
	}
}

func TestAbsoluteSymlinksAreCounted(t *testing.T) {
	dir := t.TempDir()
	grow(t, dir+"/src", map[string]string{"a": "->/etc/passwd", "b": "->b", "sub/c": "->/", "d": "->../etc"})
	source, err := Host().Open(t.Context(), Place{Path: dir + "/src"})
	must(t, err)
	sink, _, err := Host().Create(t.Context(), Place{Path: dir + "/dst"}, Place{Path: "src"})
	must(t, err)
	result, err := Copy(t.Context(), source, sink, Options{Name: "web:/src"})
	must(t, err)
	if result.AbsoluteLinks != 2 || result.FirstAbsoluteLink != "web:/src/a -> /etc/passwd" {
		t.Errorf("%+v", result)
	}
}
