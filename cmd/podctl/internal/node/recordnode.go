package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/tape"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/pods/report"
)

// recordNode records what the runtime does not know: the owners of its pods, and the processes
// and cgroups of the node. What cannot be read is not on the tape.
func recordNode(ctx context.Context, e *shell.Env, g shell.Globals, client *cri.Client, r *tape.Recorder) error {
	answers, err := askOwners(ctx, e, g, client)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		fmt.Fprintf(e.Errw, "warning: the owners of the pods are not recorded: %v\n", err)
		answers = owners.NotAsked()
	default:
		saved := answers.Save()
		saved.ReadObjects(ctx, e.Dial)
		if err := r.Writer.AddOwners(saved); err != nil {
			return err
		}
	}
	if err := r.Writer.AddNode(arrival.Save(readNode(ctx, e, preemptOptions{Globals: g}))); err != nil {
		return err
	}
	if cri.ServerOf(client.Endpoint()).PID == 0 || client.IsSimulated() {
		return nil // its containers are no processes of this host, or cannot be seen
	}
	return r.Host(ctx, tape.HostOptions{Procs: e.Procs, Cgroups: e.CgroupMounts(), MountsOf: answers.Kubelet.PID})
}

// askOwners asks everybody who may own a pod of the runtime.
func askOwners(ctx context.Context, e *shell.Env, g shell.Globals, client *cri.Client) (*owners.Answers, error) {
	paths, err := g.Paths(client.Endpoint())
	if err != nil {
		return nil, err
	}
	listed, err := client.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	r := shell.NewReader(e, client.Endpoint(), paths)
	r.Kubelet, r.CountUndesired, r.ReadExits = owners.KubeletAlways, true, true
	return r.Ask(ctx, client, listed)
}

// recording is the part of a report that podctl -r tape:REPORT looks at.
func (r *reporter) recording(ctx context.Context) ([]report.File, error) {
	e := *r.env
	e.Errw = io.Discard // what is not recorded is said where it is looked for
	client, disconnect, err := shell.Connect(ctx, &e, r.patient())
	defer disconnect()
	if err != nil {
		return nil, err
	}
	recorder := newRecorder(&e, client)
	if err := recorder.Snapshot(ctx); err != nil {
		return nil, err
	}
	if err := recordNode(ctx, &e, r.patient(), client, recorder); err != nil {
		return nil, err
	}
	var file bytes.Buffer
	count, err := r.finishTape(ctx, recorder.Writer, &file)
	files := []report.File{{Name: report.RecordingName, Data: file.Bytes(), Sealed: true}}
	if len(count.Cut) > 0 {
		text := "too large, and cut in the recording:\n" + strings.Join(count.Cut, "\n") + "\n"
		files = append(files, report.File{Name: "cut.txt", Data: []byte(text)})
	}
	return files, err
}
