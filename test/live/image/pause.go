package image

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// PauseName is the name under which private runtimes hold the pause image.
const PauseName = "podctl.local/pause:1"

// Pause makes the image that a sandbox runs, by building hack/pause with the
// go command. It must be called with the working directory inside the module.
func Pause(ctx context.Context) (v1.Image, error) {
	dir, err := os.MkdirTemp("", "podctl-pause")
	if err != nil {
		return nil, fmt.Errorf("build pause: %w", err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "pause")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=",
		"-o", binary, "github.com/podctl/podctl/hack/pause")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build pause: %w: %s", err, bytes.TrimSpace(out))
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("build pause: %w", err)
	}
	return Build([]File{{Name: "pause", Mode: 0o755, Data: data}},
		v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"})
}
