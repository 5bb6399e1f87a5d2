package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

func TestHostPathTypes(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	write(t, path("file"), "")
	if err := errors.Join(os.Mkdir(path("dir"), 0o755), os.Symlink("file", path("link"))); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()

	const bad = "hostPath type check failed: "
	missing := func(kind string) string {
		return fmt.Sprintf("hostPath type check failed, %[1]s is not a %[2]s, unable to determine its type: path %[1]q does not exist", path("none"), kind)
	}
	tests := []struct {
		path string
		t    v1.HostPathType
		err  string
		mode fs.FileMode // of what was made
	}{
		{path: path("dir"), t: v1.HostPathDirectory},
		{path: path("file"), t: v1.HostPathFile},
		{path: path("link"), t: v1.HostPathFile},
		{path: path("socket"), t: v1.HostPathSocket},
		{path: "/dev/null", t: v1.HostPathCharDev},
		{path: path("none"), t: v1.HostPathUnset},
		{path: path("dir"), t: v1.HostPathDirectoryOrCreate, mode: fs.ModeDir | 0o755},
		{path: path("file"), t: v1.HostPathFileOrCreate, mode: 0o644},
		{path: path("new/dir"), t: v1.HostPathDirectoryOrCreate, mode: fs.ModeDir | 0o755},
		{path: path("newfile"), t: v1.HostPathFileOrCreate, mode: 0o644},
		{path: path("none"), t: v1.HostPathDirectory, err: missing("directory")},
		{path: path("none"), t: v1.HostPathFile, err: missing("file")},
		{path: path("file"), t: v1.HostPathDirectory, err: bad + path("file") + " is not a directory, it's a File"},
		{path: path("file"), t: v1.HostPathDirectoryOrCreate, err: bad + path("file") + " is not a directory, it's a File"},
		{path: path("dir"), t: v1.HostPathFileOrCreate, err: bad + path("dir") + " is not a file, it's a Directory"},
		{path: path("file"), t: v1.HostPathSocket, err: bad + path("file") + " is not a socket file, it's a File"},
		{path: path("file"), t: v1.HostPathCharDev, err: bad + path("file") + " is not a character device, it's a File"},
		{path: "/dev/null", t: v1.HostPathBlockDev, err: bad + "/dev/null is not a block device, it's a CharDevice"},
		{path: path("dir"), t: "Dir", err: "Dir is an invalid volume type"},
		{path: path("no/dir/file"), t: v1.HostPathFileOrCreate, err: "open " + path("no/dir/file") + ": no such file or directory"},
	}
	for _, tt := range tests {
		t.Run(string(tt.t)+" "+filepath.Base(tt.path), func(t *testing.T) {
			got, err := New(t.TempDir()).Mount(t.Context(), podWith(host(tt.path, tt.t)), pod.VolumeInput{})
			if tt.err != "" {
				if err == nil {
					t.Fatal("no error")
				}
				diff(t, "error", `set up volume "h": `+tt.err, err.Error())
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "paths", map[string]string{"h": tt.path}, got)
			if tt.mode != 0 {
				diff(t, "mode", tt.mode, modeOf(t, tt.path))
			}
		})
	}
}

func TestHostPathIsCheckedOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	m := New(t.TempDir())
	p := podWith(host(dir, v1.HostPathDirectoryOrCreate))
	if _, err := m.Mount(t.Context(), p, pod.VolumeInput{}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(dir), "x"), "")
	if err := os.Rename(filepath.Join(filepath.Dir(dir), "x"), dir+"2"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(dir+"2", dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Mount(t.Context(), p, pod.VolumeInput{}); err != nil {
		t.Errorf("second mount: %v", err)
	}
	if err := m.Unmount(t.Context(), p.UID); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Mount(t.Context(), p, pod.VolumeInput{}); err == nil {
		t.Error("after Unmount the file in the directory's place is not noticed")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Errorf("the host's file is gone: %v", err)
	}
}
