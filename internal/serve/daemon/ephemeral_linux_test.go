package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/volume"
)

// A pod that runs when the simulated runtime ends has parts of the host's directories
// mounted: what is in them is not removed with its directory.
func TestSimulatedPodKeepsHostFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	theirs, dir := t.TempDir(), filepath.Join(t.TempDir(), "podctl-sim-1")
	file := filepath.Join(theirs, "part", "file")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("data"), 0o600)); err != nil {
		t.Fatal(err)
	}
	volumes := volume.New(host.Below(dir).Root)
	if err := volumes.CreatePod("u1"); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(volumes.Dir("u1"), "volume-subpaths", "v", "c", "0")
	if err := volumes.BindSubPath("u1", theirs, "part", target); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(target, "file")); err != nil || string(b) != "data" {
		t.Fatalf("not mounted: %q, %v", b, err)
	}
	if err := removeEphemeral(dir); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "data" {
		t.Errorf("the host's file: %q, %v", b, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pod's directory: %v", err)
	}
}
