package podsync_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

func (f *fakeRuntime) PullImage(ctx context.Context, image string, _ *runtimeapi.PodSandboxConfig, auth *runtimeapi.AuthConfig) (string, error) {
	f.mu.Lock()
	f.users = append(f.users, auth.GetUsername())
	refused := f.password != "" && auth.GetPassword() != f.password
	f.mu.Unlock()
	if err := f.begin(ctx, call{method: "PullImage", detail: image}); err != nil {
		return "", err
	}
	if refused {
		return "", errors.New("401 Unauthorized")
	}
	if f.pullError != nil {
		return "", f.pullError
	}
	f.images[image] = pod.Image{ID: "sha256:pulled", Size: 42}
	return "sha256:pulled", nil
}

func (f *fakeRuntime) ImageStatus(_ context.Context, image string) (*pod.Image, error) {
	f.read("ImageStatus")
	if i, ok := f.images[image]; ok {
		return &i, nil
	}
	return nil, nil
}

func (f *fakeRuntime) Exec(ctx context.Context, id string, command []string, _ time.Duration) ([]byte, int32, error) {
	f.mu.Lock()
	f.calls = append(f.calls, call{method: "ExecSync", container: f.container(id).Name, detail: strings.Join(command, " ")})
	f.mu.Unlock()
	took, code := time.Duration(0), int32(0)
	if f.execs != nil {
		took, code = f.execs(command)
	}
	select {
	case <-time.After(took):
		return []byte(cmp.Or(f.output, "secret output")), code, nil
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}
