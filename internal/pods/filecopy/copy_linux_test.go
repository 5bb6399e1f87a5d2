package filecopy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inContainer is a root in the place of a container's.
func inContainer(t *testing.T, dir string) *Root {
	t.Helper()
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &Root{dir: f}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// cp copies between two roots as the command does.
func cp(t *testing.T, from *Root, src string, to *Root, dst string, o Options) (Place, error) {
	t.Helper()
	source := Place{Target: "pod", Path: src}
	o.Name = source.String()
	tree, err := from.Open(t.Context(), source)
	if err != nil {
		return Place{}, err
	}
	sink, made, err := to.Create(t.Context(), Place{Path: dst}, source)
	if err != nil {
		return Place{}, err
	}
	_, err = Copy(t.Context(), tree, sink, o)
	return made, err
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// A tree keeps modes, owners, times, symlinks and hard links.
func TestCopyPreservesTree(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "root/src")
	write(t, src+"/a/file", "content")
	write(t, src+"/a/b/empty", "")
	must(t, os.Symlink("/etc/passwd", src+"/a/absolute"))
	must(t, os.Symlink("../../../..", src+"/a/up"))
	must(t, os.Link(src+"/a/file", src+"/hard"))
	must(t, os.Chmod(src+"/a/file", 0o4751))
	must(t, os.Chmod(src+"/a/b", 0o555))
	if os.Geteuid() == 0 {
		must(t, os.Chown(src+"/a/b/empty", 123, 456))
		must(t, os.Lchown(src+"/a/up", 7, 8))
	}
	must(t, os.Chmod(src+"/a/file", 0o4751))
	old := time.Unix(1000000000, 123456789)
	for _, name := range []string{"a/file", "a/b"} {
		must(t, os.Chtimes(filepath.Join(src, name), old, old))
	}
	made, err := cp(t, inContainer(t, dir+"/root"), "/src", Host(), dir+"/dst", Options{})
	must(t, err)
	if made.Path != dir+"/dst" {
		t.Errorf("made %s", made)
	}
	same := func(name string) unix.Stat_t {
		t.Helper()
		var from, to unix.Stat_t
		must(t, unix.Lstat(filepath.Join(src, name), &from))
		must(t, unix.Lstat(filepath.Join(dir, "dst", name), &to))
		if from.Mode != to.Mode || from.Uid != to.Uid || from.Gid != to.Gid || from.Size != to.Size && from.Mode&unix.S_IFMT != unix.S_IFDIR || from.Mtim != to.Mtim {
			t.Errorf("%s: mode %o, owner %d:%d, size %d, time %v; want %o, %d:%d, %d, %v", name, to.Mode, to.Uid, to.Gid, to.Size, to.Mtim, from.Mode, from.Uid, from.Gid, from.Size, from.Mtim)
		}
		return to
	}
	for _, name := range []string{"a", "a/b", "a/b/empty", "a/absolute", "a/up"} {
		same(name)
	}
	if file, hard := same("a/file"), same("hard"); file.Ino != hard.Ino {
		t.Error("the hard link is a file of its own")
	}
	for link, want := range map[string]string{"absolute": "/etc/passwd", "up": "../../../.."} {
		if got, _ := os.Readlink(dir + "/dst/a/" + link); got != want {
			t.Errorf("%s points to %s, want %s", link, got, want)
		}
	}
}

// kubectl's rules, which are those of cp -r.
func TestCopyDestination(t *testing.T) {
	for _, c := range []struct{ src, dst, want string }{
		{"/src", "new", "new/f"},             // a directory becomes the new one
		{"/src", "there", "there/src/f"},     // or goes into the one that is there
		{"/src/.", "there", "there/f"},       // or its content does
		{"/src/f", "there", "there/f"},       // a file goes into a directory
		{"/src/f", "there/", "there/f"},      //
		{"/src/f", "new", "new"},             // or becomes the new file
		{"/src/f", "there/old", "there/old"}, // or replaces the old one
		{"/link", "new", "new/f"},            // the path that is named may be a symlink
		{"/src/f", "missing/", "no such directory"},
		{"/src/f", "missing/new", "no such file or directory"},
		{"/src", "there/old", "not a directory"},
		{"/missing", "new", "no such file or directory"},
	} {
		dir := t.TempDir()
		write(t, dir+"/root/src/f", "content")
		write(t, dir+"/there/old", "old")
		must(t, os.Symlink("/src", dir+"/root/link"))
		_, err := cp(t, inContainer(t, dir+"/root"), c.src, Host(), dir+"/"+c.dst, Options{})
		switch {
		case strings.Contains(c.want, " "):
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s → %s: %v, want %q", c.src, c.dst, err, c.want)
			}
		case err != nil:
			t.Errorf("%s → %s: %v", c.src, c.dst, err)
		case content(t, dir+"/"+c.want) != "content":
			t.Errorf("%s → %s: %s is not the copy", c.src, c.dst, c.want)
		}
		left, _ := filepath.Glob(dir + "/*/.podctl-*")
		if len(left) > 0 {
			t.Errorf("%s → %s left %v", c.src, c.dst, left)
		}
	}
}

// What a container could use against the host is neither opened nor copied; the rest is.
func TestSpecialFilesAreSkipped(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/root/src/f", "content")
	must(t, unix.Mkfifo(dir+"/root/src/fifo", 0o644))
	want := []string{"pod:/src/fifo: is a FIFO"}
	if unix.Mknod(dir+"/root/src/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil {
		want = append(want, "pod:/src/null: is a character device")
	}
	write(t, dir+"/root/src/setuid", "")
	must(t, os.Chmod(dir+"/root/src/setuid", 0o6755))
	_, err := cp(t, inContainer(t, dir+"/root"), "/src", Host(), dir+"/dst", Options{ToHost: true})
	if err == nil || strings.Count(err.Error(), "\n")+1 != len(want) {
		t.Fatalf("%v", err)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not contain %q", err, text)
		}
	}
	content(t, dir+"/dst/f")
	info, err := os.Stat(dir + "/dst/setuid")
	must(t, err)
	if info.Mode() != 0o755 {
		t.Errorf("mode %v on the host", info.Mode())
	}
	if entries, _ := os.ReadDir(dir + "/dst"); len(entries) != 2 {
		t.Errorf("copied %v", entries)
	}
	if _, err := cp(t, inContainer(t, dir+"/root"), "/src/fifo", Host(), dir+"/new", Options{}); err == nil || !strings.Contains(err.Error(), "fifo: is a FIFO") {
		t.Errorf("a FIFO alone: %v", err)
	}
}

// Owners are those that the container sees.
func TestOwnersMappedByUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root changes owners")
	}
	dir := t.TempDir()
	write(t, dir+"/root/f", "")
	must(t, os.Chown(dir+"/root/f", 100005, 200006))
	root := inContainer(t, dir+"/root")
	root.ids = IDMap{UIDs: []Range{{Outside: 100000, Length: 1000}}, GIDs: []Range{{Outside: 200000, Length: 1000}}}
	_, err := cp(t, root, "f", Host(), dir+"/copy", Options{})
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(dir+"/copy", &st))
	if st.Uid != 5 || st.Gid != 6 {
		t.Errorf("owner %d:%d, want 5:6", st.Uid, st.Gid)
	}
	_, err = cp(t, Host(), dir+"/copy", root, "back", Options{})
	must(t, err)
	must(t, unix.Stat(dir+"/root/back", &st))
	if st.Uid != 100005 || st.Gid != 200006 {
		t.Errorf("owner %d:%d in the container, want 100005:200006", st.Uid, st.Gid)
	}
	must(t, os.Chown(dir+"/copy", 5000, 6))
	if _, err := cp(t, Host(), dir+"/copy", root, "other", Options{}); err == nil || !strings.Contains(err.Error(), "no user 5000") {
		t.Errorf("a user that the namespace does not have: %v", err)
	}
}
