package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/record"
)

// recipe is what podctl asks a runtime for to start a pod of one container. A sandbox
// as a kubelet asks for it takes a runtime longer than the least that it accepts: it has a
// seccomp profile, and its container mounts and masked paths.
type recipe struct {
	sandbox   runtimeapi.RunPodSandboxRequest
	container runtimeapi.CreateContainerRequest
}

// recipeOf reads it from the calls by which a pod was started.
func recipeOf(calls []record.Call) (*recipe, error) {
	var r recipe
	var errs []error
	for _, c := range calls {
		switch c.Method {
		case "RunPodSandbox":
			errs = append(errs, proto.Unmarshal(c.Request, &r.sandbox))
		case "CreateContainer":
			errs = append(errs, proto.Unmarshal(c.Request, &r.container))
		}
	}
	if r.sandbox.Config == nil || r.container.Config == nil {
		errs = append(errs, errors.New("podctl started no pod"))
	}
	return &r, errors.Join(errs...)
}

// start starts the pod again, as number i, with nothing but the three calls.
func (r *recipe) start(ctx context.Context, client *bare.Client, dir string, i int) (*bare.Pod, error) {
	sandbox := proto.CloneOf(r.sandbox.Config)
	sandbox.Metadata.Name, sandbox.Metadata.Uid = fmt.Sprintf("bare-%d", i), fmt.Sprintf("uid-bare-%d", i)
	sandbox.Hostname = sandbox.Metadata.Name
	sandbox.Linux.CgroupParent = "" // it would be left over
	sandbox.LogDirectory = filepath.Join(dir, "logs", sandbox.Metadata.Name)
	container := proto.CloneOf(r.container.Config)
	if err := os.MkdirAll(filepath.Dir(filepath.Join(sandbox.LogDirectory, container.LogPath)), 0o755); err != nil {
		return nil, err
	}
	for m, mount := range container.Mounts {
		mount.HostPath = filepath.Join(sandbox.LogDirectory, "mount-"+strconv.Itoa(m))
		if err := os.WriteFile(mount.HostPath, nil, 0o600); err != nil {
			return nil, err
		}
	}
	return client.StartAs(ctx, sandbox, container)
}
