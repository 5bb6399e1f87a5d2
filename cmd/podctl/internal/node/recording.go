package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/tape"
)

// Recording is a recording of a node in the making.
type Recording struct {
	*tape.Recorder
	env        *shell.Env
	reporter   *reporter
	client     *cri.Client
	disconnect func()
	file       *shell.NewFile
	steps      *shell.Steps
}

// StartRecording connects to the runtime and creates the file, - for standard output. Finish
// follows.
func StartRecording(ctx context.Context, e *shell.Env, g shell.Globals, file string) (*Recording, error) {
	r := &Recording{env: e, reporter: &reporter{env: e, opts: reportOptions{Globals: g}}}
	var err error
	if r.client, r.disconnect, err = shell.Connect(ctx, e, r.reporter.patient()); err != nil {
		return nil, err
	}
	if r.file, err = shell.CreateFile(e, file); err != nil {
		r.disconnect()
		return nil, err
	}
	r.Recorder, r.steps = newRecorder(e, r.client), shell.StartSteps(e, "record")
	return r, nil
}

// Finish records what the runtime does not know, and writes the file. With an error there is none,
// unless it is tape.ErrFull.
func (r *Recording) Finish(ctx context.Context, err error) (RecordSummary, error) {
	defer r.disconnect()
	defer r.steps.Stop()
	if err == nil {
		defer r.steps.Begin("owners, processes and cgroups; masking")()
		err = r.env.UntilInterrupted(ctx, func(ctx context.Context) error {
			return recordNode(ctx, r.env, r.reporter.patient(), r.client, r.Recorder)
		})
	}
	if errors.Is(err, tape.ErrFull) {
		fmt.Fprintf(r.env.Errw, "warning: %v: what came later is not in it\n", err)
		err = nil
	}
	var count tape.Count
	if err == nil {
		count, err = r.reporter.finishTape(ctx, r.Writer, r.file)
	}
	return newRecordSummary(r.file.Name, r.client.Connected().String(), count), r.file.Finish(err)
}

// newRecorder returns a recorder of a new tape.
func newRecorder(e *shell.Env, client *cri.Client) *tape.Recorder {
	endpoint := client.Endpoint()
	header := tape.Header{
		Podctl: shell.Version(), Host: hostname(), Runtime: client.Connected().String(), Endpoint: endpoint.Runtime, PID: cri.ServerOf(endpoint).PID, Start: e.Now(),
	}
	return &tape.Recorder{Runtime: client.RuntimeConn(), Image: client.ImageConn(), Now: e.Now, Writer: tape.NewWriter(header)}
}

// finishTape writes a tape without secrets.
func (r *reporter) finishTape(ctx context.Context, w *tape.Writer, to io.Writer) (tape.Count, error) {
	r.found(r.specValues(ctx))
	if k, err := r.kubelet(ctx); err == nil && k != nil {
		r.setKubeletDir(k)
	}
	mask := tape.NewMask(r.secrets())
	count, err := w.Finish(to, mask, r.env.Now())
	r.found(mask.Values())
	return count, err
}
