package conform

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/podctl/podctl/internal/sys/hint"
)

// TestLibrariesOfDynamicProgram: the loader, and each library where a loaded one is.
func TestLibrariesOfDynamicProgram(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("no sh of Linux")
	}
	maps, err := exec.Command(sh, "-c", `while read -r line; do echo "$line"; done </proc/self/maps`).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := librariesOf(sh, string(maps))
	if err == nil && got == nil {
		t.Skip(sh, "is linked statically")
	}
	if err != nil || len(got) < 2 || !filepath.IsAbs(got[0]) || !strings.Contains(string(maps), filepath.Dir(got[1])) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := librariesOf(sh, "\n"); hint.Of(err) != "CGO_ENABLED=0 go install github.com/podctl/podctl/cmd/podctl@latest" {
		t.Errorf("without maps: %q, %v", got, err)
	}
}

// TestCopiedProgram: every user may run the copy, also if one that was killed left another.
func TestCopiedProgram(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	dir := filepath.Join(t.TempDir(), "program")
	for range 2 {
		files, err := copyPodctl(dir)
		if err != nil || files["/podctl-conform"] != filepath.Join(dir, "podctl-conform") {
			t.Fatal(files, err)
		}
		for path, file := range files {
			if info, err := os.Stat(file); err != nil || info.Mode() != 0o755 || info.Size() == 0 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	}
}
