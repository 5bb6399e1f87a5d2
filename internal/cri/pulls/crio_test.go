package pulls

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

func TestCRIOPullsByTheFilesThatItWrites(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) {
		path := filepath.Join(dir, "root", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	const first, second, ended = "/var/tmp/container_images_storage11", "/big/container_images_storage22", "/var/tmp/container_images_storage33"
	write(first+"/1", 10)
	write(first+"/2", 30)
	write(second+"/1", 500)
	write("/var/log/7", 1000)
	write("/var/tmp/container_images_storage44/1", 2000) // another CRI-O's
	link("/elsewhere", "root"+first+"/3")
	link(filepath.Join(dir, "root"), "7/root")
	for fd, target := range map[string]string{"3": first + "/1", "4": first + "/2", "5": second + "/1", "6": "/var/log/7", "8": ended + "/1", "9": "socket:[123]"} {
		link(target, "7/fd/"+fd)
	}
	all := crioPulls(proc.FS(dir), 7, epoch)
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	done := map[int64]bool{}
	for _, p := range all {
		done[p.Done()] = true
		if p.Image != "" || len(p.Layers) != 1 || p.Total() != 0 || !p.At.Equal(epoch) || time.Since(p.Since) < 0 {
			t.Errorf("%+v", p)
		}
	}
	if !done[40] || !done[500] {
		t.Errorf("%+v", all)
	}
	if all := crioPulls(proc.FS(dir), 0, epoch); len(all) > 0 {
		t.Errorf("of no process: %+v", all)
	}
}
