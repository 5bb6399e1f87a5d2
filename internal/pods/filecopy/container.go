package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// OpenContainer returns the way to the files of a container: its root file system where this
// process may enter it, else tar.
func OpenContainer(ctx context.Context, client *cri.Client, t target.Target, writes bool) (End, error) {
	if t.Container == nil {
		return nil, &target.NoContainerError{Pod: t.Pod}
	}
	process, err := client.ContainerProcess(ctx, t.Container.ID)
	if err != nil {
		return nil, err
	}
	if t.Container.State != pod.Running {
		return nil, notMounted(t, process)
	}
	tar := &Tar{Exec: execIn(client, t.Container.ID)}
	if process.PID == 0 || os.Geteuid() != 0 {
		return tar, nil
	}
	root, err := OpenRoot(process.PID, t.Container.ID)
	switch {
	case errors.Is(err, ErrNotVisible), errors.Is(err, fs.ErrNotExist), errors.Is(err, errors.ErrUnsupported):
		return tar, nil
	case err != nil:
		return nil, err
	case writes && !root.IDs().Identity():
		// Only a process in the user namespace can create files in it.
		return tar, root.Close()
	}
	return root, nil
}

// execIn runs commands in a container.
func execIn(client *cri.Client, id string) Exec {
	return func(ctx context.Context, command []string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
		url, err := client.Exec(ctx, id, command, cri.Streams{Stdin: stdin != nil, Stdout: true, Stderr: true})
		if err != nil {
			return 0, err
		}
		err = stream.Run(ctx, stream.Session{URL: url, Stdin: stdin, Stdout: stdout, Stderr: stderr})
		if exit, ok := errors.AsType[*stream.ExitError](err); ok {
			return exit.Code, nil
		}
		return 0, err
	}
}

// notMounted returns the error for a container that does not run: its files are not
// mounted. The advice says where they are as far as the runtime reports it.
func notMounted(t target.Target, process cri.ContainerProcess) error {
	advice := "the CRI does not give access to the files of a container that does not run"
	if process.Snapshot != "" {
		advice = fmt.Sprintf("containerd keeps them as a snapshot, which the CRI does not give access to: ctr -n k8s.io snapshots --snapshotter %s mounts DIR %s", process.Snapshotter, process.Snapshot)
	}
	return hint.Errorf(advice, "container %s is %s: its files are mounted only while it runs", t.DisplayName(), t.Container.State)
}
