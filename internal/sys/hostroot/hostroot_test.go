package hostroot

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/sys/hint"
)

// dirVariable makes a run of this test program enter a directory.
const dirVariable = "HOSTROOT_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(dirVariable); dir != "" {
		os.Exit(inside(dir))
	}
	os.Exit(m.Run())
}

// inside prints a file that an absolute link of the entered directory leads to.
func inside(dir string) int {
	err := Enter(dir)
	var content []byte
	if err == nil {
		content, err = os.ReadFile("etc/link") // the working directory is the root, too
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		return 1
	}
	_, _ = os.Stdout.Write(content)
	return 0
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEnterChangesRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("chroot needs root")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "proc/self/comm"), "")
	write(t, filepath.Join(dir, "opt/file"), "of the host")
	write(t, filepath.Join(dir, "etc/other"), "")
	if err := os.Symlink("/opt/file", filepath.Join(dir, "etc/link")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "of the host" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestEnterRequiresProc(t *testing.T) {
	err := Enter(t.TempDir())
	if !strings.HasPrefix(hint.Of(err), "mount the host's / there") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := Enter("/"); err != nil {
		t.Errorf("/ changes nothing: %v", err)
	}
}

// The kubelet replaces a token by replacing a link to its directory.
func TestTokenIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "..1/token"), "first\n")
	write(t, filepath.Join(dir, "..2/token"), "second\n")
	link := func(name, target string) {
		t.Helper()
		_ = os.Remove(filepath.Join(dir, name))
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..data", "..1")
	link("token", "..data/token")
	var err error
	if account, err = os.OpenRoot(dir); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = account.Close(); account = nil }()
	for _, want := range []string{"first", "second"} {
		if got, err := Token(); got != want || err != nil {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
		link("..data", "..2")
	}
}
