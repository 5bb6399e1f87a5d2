package conform

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/podctl/podctl/internal/sys/hint"
)

// TestDynamicProgramIsRefused: containers do not have its libraries.
func TestDynamicProgramIsRefused(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no sh of Linux")
	}
	if err := checkStatic(sh); err == nil {
		t.Skip(sh, "is linked statically")
	} else if hint.Of(err) != "CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest" {
		t.Error(err)
	}
}

// TestCopiedProgram: every user may run the copy, also if one that was killed left another.
func TestCopiedProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	dir := filepath.Join(t.TempDir(), "program")
	for range 2 {
		file, err := copyPodctl(dir)
		if hint.Of(err) != "" {
			t.Skip(err) // the race detector links tests dynamically
		}
		if err != nil || file != filepath.Join(dir, "podctl-conform") {
			t.Fatal(file, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o755 || info.Size() == 0 {
			t.Errorf("%v, %v", info, err)
		}
	}
}
