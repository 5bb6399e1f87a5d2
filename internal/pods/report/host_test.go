package report

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
)

// procDir is a directory that stands for /proc, with one process.
type procDir struct {
	t *testing.T
	proc.FS
}

const pid = 7

func newProc(t *testing.T, cgroup string) procDir {
	p := procDir{t, proc.FS(t.TempDir())}
	p.write("cgroup", cgroup)
	return p
}

func (p procDir) write(name, text string) {
	p.t.Helper()
	path := filepath.Join(string(p.FS), strconv.Itoa(pid), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p procDir) stderr(to string) {
	p.t.Helper()
	p.write("fd/0", "")
	if err := os.Symlink(to, filepath.Join(string(p.FS), strconv.Itoa(pid), "fd", "2")); err != nil {
		p.t.Fatal(err)
	}
}

func TestReadLog(t *testing.T) {
	ctx := t.Context()
	unit := newProc(t, "1:name=systemd:/system.slice/containerd.service\n0::/\n")
	files, err := ReadLog(ctx, unit.FS, pid, func(_ context.Context, unit string) ([]byte, error) { return []byte("of " + unit), nil })
	if err != nil || len(files) != 1 || string(files[0].Data) != "of containerd.service" {
		t.Errorf("%+v, %v", files, err)
	}

	// Without a journal, the file that standard error is.
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Repeat("old\n", 10)+strings.Repeat("line\n", LogLines)), 0o600); err != nil {
		t.Fatal(err)
	}
	unit.stderr(log)
	files, err = ReadLog(ctx, unit.FS, pid, func(context.Context, string) ([]byte, error) { return nil, errors.New("no journald") })
	if err != nil || len(files) != 1 || strings.Contains(string(files[0].Data), "old") || strings.Count(string(files[0].Data), "line\n") != LogLines {
		t.Errorf("%d files, %v", len(files), err)
	}

	elsewhere := newProc(t, "0::/user.slice/x.scope\n")
	elsewhere.stderr("/dev/null")
	if _, err = ReadLog(ctx, elsewhere.FS, pid, nil); err == nil || !strings.Contains(err.Error(), "/dev/null, is not a file") {
		t.Errorf("%v", err)
	}
}

func TestRuntimeConfigPaths(t *testing.T) {
	for name, c := range map[string]struct {
		program Program
		want    string
	}{
		"containerd":             {Program{Comm: "containerd", Args: []string{"containerd"}}, "/etc/containerd/config.toml"},
		"containerd, own":        {Program{Comm: "containerd", Args: []string{"containerd", "--config", "/a/b.toml"}}, "/a/b.toml"},
		"containerd, own, short": {Program{Comm: "containerd", Args: []string{"containerd", "-c=/a/b.toml"}}, "/a/b.toml"},
		"CRI-O":                  {Program{Comm: "crio"}, "/etc/crio/crio.conf.d/*"},
		"CRI-O, own":             {Program{Comm: "crio", Args: []string{"crio", "-d", "/c"}}, "/c/*"},
		"another":                {Program{Comm: "dockerd"}, "/etc/cni/net.d/*"},
	} {
		if got := c.program.RuntimeConfig(); !slices.Contains(got, c.want) {
			t.Errorf("%s: %q has no %s", name, got, c.want)
		}
	}
}

// The files are those of the process's own root directory.
func TestReadConfig(t *testing.T) {
	p := newProc(t, "")
	p.write("root/etc/app/config.toml", "a = 1\n")
	p.write("root/etc/app/conf.d/10.toml", "b = 2\n")
	p.write("root/etc/app/large.toml", strings.Repeat("x", maxConfig+1))
	files, err := Program{PID: pid, Args: []string{"app", "--token", "x"}}.ReadConfig(p.FS, []string{"/etc/app/*", "/etc/app/conf.d/*", "/none"})
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"command-line.txt", "files/etc/app/config.toml", "files/etc/app/conf.d/10.toml"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if err == nil || !strings.Contains(err.Error(), "large.toml is larger than") {
		t.Errorf("%v", err)
	}
}

func TestSecretValues(t *testing.T) {
	dir := t.TempDir()
	volume := filepath.Join(dir, "uid-1/volumes/kubernetes.io~secret/db")
	for path, text := range map[string]string{filepath.Join(volume, "..2026/password"): planted, filepath.Join(dir, "uid-1/volumes/kubernetes.io~empty-dir/x/f"): "other"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"..data": "..2026", "password": "..data/password"} {
		if err := os.Symlink(to, filepath.Join(volume, link)); err != nil {
			t.Fatal(err)
		}
	}
	got := SecretValues(dir, filepath.Join(dir, "none"))
	if len(got) != 1 || string(got[0]) != planted {
		t.Errorf("%q", got)
	}
}
