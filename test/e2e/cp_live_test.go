package e2e

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// Files are copied both ways without anything in the container; a container that swaps
// directories for symlinks gets nothing of the host.
func TestCopy(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		place := at(t, rt)
		swaps := `mkdir -p /made/d /hostile/d; echo inside > /made/d/f; ln -s /etc/hostname /made/link; chmod 600 /made/d/f; chown 12:34 /made/d/f; mkfifo /made/fifo
touch /hostile/d/shadow /outside; rm -rf /bin/tar
trap "exit 0" TERM; echo up
while true; do mv /hostile/d /hostile/e; ln -s / /hostile/d; rm /hostile/d; mv /hostile/e /hostile/d; done`
		proc := place.start(pod("web", swaps, brief), "-")
		proc.prints("c started")
		eventually(t, "the container has made its files", func() bool {
			_, _, code := place.fed("", "cp", "-q", "web:/hostile/d/shadow", place.path("probe"))
			return code == 0
		}, func() string { out, errw := proc.output(); return out + errw })

		out, errw, code := place.fed("", "cp", "web:/made", place.path("out"))
		if code != 1 || !strings.Contains(errw, "web:/made/fifo: is a FIFO") || strings.Count(errw, "not copied") != 1 {
			t.Errorf("cp of a tree: exit %d\n%s%s", code, out, errw)
		}
		if data, err := os.ReadFile(place.path("out/d/f")); err != nil || string(data) != "inside\n" {
			t.Errorf("copied %q: %v", data, err)
		}
		if target, err := os.Readlink(place.path("out/link")); err != nil || target != "/etc/hostname" {
			t.Errorf("link to %q: %v", target, err)
		}
		info, err := os.Stat(place.path("out/d/f"))
		if err != nil {
			t.Fatal(err)
		}
		if st := info.Sys().(*syscall.Stat_t); info.Mode() != 0o600 || st.Uid != 12 || st.Gid != 34 {
			t.Errorf("mode %v, owner %d:%d", info.Mode(), st.Uid, st.Gid)
		}

		data := make([]byte, 8<<20)
		_, _ = rand.Read(data) // it does not fail
		if err := os.WriteFile(place.path("big"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{place.path("big"), "web/c:/made/d"}, {"default/web:/made/d/big", place.path("back")}} {
			if out, errw, code := place.fed("", append([]string{"cp"}, args...)...); code != 0 || out != "" || !strings.Contains(errw, "copied 1 file, 8.0MiB") {
				t.Errorf("cp %v: exit %d\n%s%s", args, code, out, errw)
			}
		}
		if back, err := os.ReadFile(place.path("back")); err != nil || !bytes.Equal(back, data) {
			t.Errorf("%d bytes came back: %v", len(back), err)
		}

		for range 8 {
			dst := place.path("hostile")
			_, _, _ = place.fed("", "cp", "-q", "web:/hostile", dst)
			found, err := exec.Command("find", dst, "-name", "proc", "-o", "-name", "etc", "-o", "-name", "big", "-o", "-name", "outside").CombinedOutput()
			if err == nil && len(bytes.TrimSpace(found)) > 0 {
				t.Fatalf("what lies outside of the directory was copied: %s", found)
			}
			_, _, _ = place.fed("", "cp", "-q", place.path("probe"), "web:/hostile/d/escaped")
			if _, err := os.Lstat("/escaped"); err == nil {
				t.Fatal("a file was made on the host")
			}
			if err := os.RemoveAll(dst); err != nil {
				t.Fatal(err)
			}
		}

		for _, c := range []struct{ from, to, want string }{
			{"web:/missing", place.path("x"), "no such file"},
			{"web:/made", place.path("none") + "/", "no such directory"},
			{"other:/made", place.path("x"), "not found"},
			{place.path("x"), place.path("y"), "must be in a container"},
			{"web:/proc/1/root/made", place.path("x"), "too many levels of symbolic links"},
		} {
			if _, errw, code := place.fed("", "cp", c.from, c.to); code == 0 || !strings.Contains(errw, c.want) {
				t.Errorf("cp %s %s: exit %d\n%s", c.from, c.to, code, errw)
			}
		}
		if left, _ := filepath.Glob(place.path(".podctl-*")); len(left) > 0 {
			t.Errorf("left %v", left)
		}
		proc.signal(syscall.SIGINT)
		proc.wait()
	})
}

// The files of a container that has exited are not mounted; the error says so, and where
// they are if the runtime shows it.
func TestCopyFromExitedContainer(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		place := at(t, rt)
		job := strings.Replace(pod("job", "true", never), "containers:", "containers:\n"+container("other", server), 1)
		proc := place.start(job, "-")
		proc.prints("c exited")
		_, errw, code := place.fed("", "cp", "job/c:/bin", place.path("x"))
		if code != 1 || !strings.Contains(errw, "job/c is exited: its files are mounted only while it runs") || !strings.Contains(errw, "hint:") {
			t.Errorf("exit %d\n%s", code, errw)
		}
		proc.signal(syscall.SIGINT)
		proc.wait()
	})
}
