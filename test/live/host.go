package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/testkit/testutil"
)

// find looks for a file of the repository above the directory of the test.
func find(file string) (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find %s: not above the test", file)
		}
	}
	return "", err
}

// Build builds a program of this repository, such as ./cmd/podctl, static as podctl is
// released: it runs in a container without a C library. A machine without Go has those of
// the directory PODCTL_LIVE_PROGRAMS, which another one built.
func Build(file, pkg string) error {
	root, err := find("go.work")
	if err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-o", file, pkg)
	if dir := os.Getenv("PODCTL_LIVE_PROGRAMS"); dir != "" {
		cmd = exec.Command("cp", filepath.Join(dir, filepath.Base(pkg)), file)
	}
	cmd.Dir, cmd.Env = filepath.Dir(root), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func skipUnlessHost(t testing.TB) {
	t.Helper()
	switch {
	case os.Getenv("PODCTL_LIVE") == "off":
		t.Skip("live test: PODCTL_LIVE=off")
	case testing.Short():
		t.Skip("live test: -short")
	case runtime.GOOS != "linux":
		skip(t, "live test: needs Linux")
	case os.Geteuid() != 0:
		skip(t, "live test: needs root")
	}
}

func skip(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("PODCTL_LIVE") == "required" {
		t.Fatalf("PODCTL_LIVE=required: %s", reason)
	}
	t.Skip(strings.TrimSpace(reason))
}

// Timeout is how long a test waits for anything: PODCTL_LIVE_TIMEOUT, or three minutes.
var Timeout = timeoutOf(os.Getenv("PODCTL_LIVE_TIMEOUT"))

func timeoutOf(text string) time.Duration {
	if text == "" {
		return 3 * time.Minute
	}
	timeout, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("PODCTL_LIVE_TIMEOUT: %v", err))
	}
	return timeout
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	testutil.Eventually(t, Timeout, what, done)
}
