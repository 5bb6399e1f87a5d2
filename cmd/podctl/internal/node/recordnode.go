package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/recording"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/pods/report"
)

// record writes a recording of the node without secrets. With recording.ErrFull it is written,
// and not complete.
func (r *reporter) record(ctx context.Context, e *shell.Env, begin func(step string) (end func()), to io.Writer) (s RecordSummary, err error) {
	client, disconnect, err := shell.Connect(ctx, e, r.patient())
	defer disconnect()
	if err != nil {
		return s, err
	}
	endpoint := client.Endpoint()
	recorder := &recording.Recorder{Runtime: client.RuntimeConn(), Image: client.ImageConn(), Writer: recording.NewWriter(recording.Header{
		Podctl: shell.Version(), Host: hostname(), Runtime: client.Connected().String(), Endpoint: endpoint.Runtime, PID: cri.ServerOf(endpoint).PID,
	})}
	end := begin("answers of the runtime")
	full := recorder.Snapshot(ctx)
	end()
	if full == nil {
		defer begin("owners, processes and cgroups; masking")()
		full = recordNode(ctx, e, r.patient(), client, recorder)
	}
	if full != nil && !errors.Is(full, recording.ErrFull) {
		return s, full
	}
	r.found(r.specValues(ctx))
	if k, err := r.kubelet(ctx); err == nil && k != nil {
		r.setKubeletDir(k)
	}
	mask := recording.NewMask(r.secrets())
	c, err := recorder.Writer.Finish(to, mask, r.env.Now())
	r.found(mask.Values())
	return RecordSummary{Runtime: client.Connected().String(), Bytes: c.Bytes, Answers: c.Answers, Errors: c.Errors, Masked: c.Masked, Cut: c.Cut}, errors.Join(err, full)
}

// recordNode records what the runtime does not know: the owners of its pods, and the processes
// and cgroups of the node. What cannot be read is not in it.
func recordNode(ctx context.Context, e *shell.Env, g shell.Globals, client *cri.Client, r *recording.Recorder) error {
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
	return r.Host(ctx, recording.HostOptions{Procs: e.Procs, Cgroups: e.CgroupMounts(), MountsOf: answers.Kubelet.PID})
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
	quiet := *r.env
	quiet.Errw = io.Discard // what is not recorded is said where it is looked for
	var file bytes.Buffer
	s, err := r.record(ctx, &quiet, func(string) func() { return func() {} }, &file)
	if file.Len() == 0 {
		return nil, err
	}
	files := []report.File{{Name: report.RecordingName, Data: file.Bytes(), Sealed: true}}
	if len(s.Cut) > 0 {
		text := "too large, and cut in the recording:\n" + strings.Join(s.Cut, "\n") + "\n"
		files = append(files, report.File{Name: "cut.txt", Data: []byte(text)})
	}
	return files, err
}
