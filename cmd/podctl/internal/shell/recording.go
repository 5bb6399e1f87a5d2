package shell

import (
	"cmp"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/recording"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
)

// nowhere is a directory that cannot be: a file in it is not gone, it cannot be looked for.
const nowhere = "/dev/null/not-recorded"

// notRecorded are podctl's directories of a recording.
var notRecorded = host.Paths{Root: filepath.Join(nowhere, "root"), Logs: filepath.Join(nowhere, "logs"), Locks: filepath.Join(nowhere, "run")}

// OpenRecording has the environment stand for a node that was recorded, if the user names a
// recording as the runtime: at the time at which it ended, and with nothing of this host. A
// command that does not work on recordings is refused. The function returned closes the
// recording.
func OpenRecording(e *Env, c *cli.Context, command *cmdline.Command) (closeRecording func(), err error) {
	endpoint := ReadGlobals(c).Runtime
	if !cri.IsRecording(endpoint) {
		return func() {}, nil
	}
	file := strings.TrimPrefix(endpoint, cri.RecordingScheme)
	if _, changes := command.Effect.Refused(c); changes {
		return nil, hint.Errorf("-r names the runtime: a recording can be looked at only", "refused: %s is a recording, and nothing can be changed in it", file)
	}
	if !command.OnRecording {
		return nil, hint.Errorf("podctl help recordings lists the commands that do", "the command does not work on a recording")
	}
	var t *recording.Recording
	if err := e.UntilInterrupted(c.Context, func(ctx context.Context) (err error) {
		t, err = Await(ctx, func() (*recording.Recording, error) { return recording.Open(file) }) // a pipe, or large
		return err
	}); err != nil {
		return nil, err
	}
	outside, opened := *e, e.Now()
	dir, err := os.MkdirTemp("", "podctl-recording")
	if err != nil {
		return nil, err
	}
	closeRecording = func() {
		if e.Recording != nil {
			e.Recording.Close()
		}
		*e = outside
		_ = os.RemoveAll(dir) // a temporary directory
	}
	var procs proc.FS
	var cgroups string
	if err := e.UntilInterrupted(c.Context, func(ctx context.Context) (err error) {
		procs, cgroups, err = t.WriteFiles(ctx, dir)
		return err
	}); err != nil {
		closeRecording()
		return nil, err
	}
	e.Recording, e.recorded = recording.Serve(t), recordedHost{cmp.Or(cgroups, nowhere), owners.NotAsked()}
	e.Now = func() time.Time { return t.Header.Time.Add(outside.Now().Sub(opened)).Local() }
	e.Procs, e.Journal, e.KernelLog = cmp.Or(procs, nowhere), nil, nil
	e.Dial = func(context.Context, string) (net.Conn, error) { return nil, view.ErrNotRecorded }
	if saved := t.Owners(); saved != nil {
		e.recorded.owners, e.Dial = saved.Answers(), saved.Dial
	}
	return closeRecording, nil
}

// recordedHost is the host of a recording: where its cgroups are, and what the owners of its
// pods answered.
type recordedHost struct {
	cgroups string
	owners  *owners.Answers
}

// CgroupMounts is where the cgroups of the node are mounted.
func (e *Env) CgroupMounts() string {
	if e.Recording != nil {
		return e.recorded.cgroups
	}
	return cgroup.Mounts
}

// ReadKills reads what the kernel of the node logged about killed processes.
func (e *Env) ReadKills() (view.KernelLog, error) {
	if e.Recording != nil {
		return view.KernelLog{}, view.ErrNotRecorded
	}
	return view.ReadKernelLog()
}

// RecordedOwners are what the owners of recorded pods answered, nil where a node is looked at.
func (e *Env) RecordedOwners() *owners.Answers { return e.recorded.owners }

// ServerOf returns the process that serves the endpoint.
func (e *Env) ServerOf(endpoint cri.Endpoint) cri.Server {
	if e.Recording != nil {
		return cri.ServerAt(e.Procs, e.Recording.Header.PID)
	}
	return cri.ServerOf(endpoint)
}
