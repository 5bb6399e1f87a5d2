package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// fills are the two ways in which a file system is full.
var fills = map[string]func(dir string) error{
	"blocks": func(dir string) error {
		f, err := os.Create(filepath.Join(dir, "fill", "blocks"))
		if err != nil {
			return err
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		return err
	},
	"inodes": func(dir string) (err error) {
		for n := 0; err == nil; n++ {
			err = os.WriteFile(filepath.Join(dir, "fill", fmt.Sprint(n)), nil, 0o600)
		}
		return err
	},
}

// full makes --root a small file system and fills it. free makes room again.
func (p *place) full(how string) (free func()) {
	p.t.Helper()
	root := p.path("root")
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=64k,nr_inodes=64"); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if left, err := filepath.Glob(root + "/pods/*"); err != nil || len(left) > 0 {
			p.t.Errorf("left over: %v %v", left, err)
		}
		if err := syscall.Unmount(root, 0); err != nil {
			p.t.Error(err)
		}
	})
	for _, dir := range []string{"fill", "pods"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	if err := fills[how](root); !errors.Is(err, syscall.ENOSPC) {
		p.t.Fatal(err)
	}
	return func() {
		if err := os.RemoveAll(filepath.Join(root, "fill")); err != nil {
			p.t.Error(err)
		}
	}
}

func TestFullDiskIsReportedAndLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		for how := range fills {
			t.Run(how, func(t *testing.T) {
				p := at(t, rt)
				p.full(how)
				out, errw, code := p.run(pod("job", "true", never), "--wait-timeout", "15s", "-")
				if code != 1 || !strings.Contains(errw, "no space left on device") || strings.Contains(out+errw, "panic") {
					t.Errorf("exit %d\n%s%s", code, out, errw)
				}
			})
		}
	})
}

func TestPodRunsOnceFullDiskIsFreed(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		free := p.full("inodes")
		proc := p.start(pod("job", "true", never), "-")
		proc.prints("no space left on device")
		free()
		code := proc.wait()
		if out, errw := proc.output(); code != 0 || errw != "" {
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
	})
}

// Pods can be terminated on a disk that filled up while they ran.
func TestPodTerminatesOnFullDisk(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		free := p.full("inodes")
		free()
		proc := p.start(p.service("web"), "-")
		p.gets(1)
		if err := os.Mkdir(p.path("root/fill"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, fill := range fills {
			if err := fill(p.path("root")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		}
		proc.signal(syscall.SIGTERM)
		if code := proc.wait(); code != 130 {
			out, errw := proc.output()
			t.Errorf("exit %d\n%s%s", code, out, errw)
		}
		p.has("service", "up", "down", "end")
	})
}
