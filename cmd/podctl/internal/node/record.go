package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/recording"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/arrival"
	"github.com/podctl/podctl/internal/pods/report"
)

// recordOptions are the options of `podctl record`.
type recordOptions struct {
	shell.Globals
	format output.Format
	file   string // "-" is stdout
}

func recordCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "record",
		Usage:   "record the runtime's answers in a file, which other commands read in place of the runtime",
		Args:    cmdline.Args{Of: cmdline.File, Instead: func(string) string { return "podctl record FILE, or - for stdout" }},
		Effect:  cmdline.ChangesIf(func(c *cli.Context) bool { return c.Args().First() != "-" }, "-"),
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{RecordSummary{}},
		Description: "Asks the runtime once for everything that only reads: its version, status and configuration,\n" +
			"lists, the verbose status of each sandbox and container, images and statistics; and what the\n" +
			"owners of the pods say, and the processes and cgroups of the node.\n" +
			"podctl -r tape:FILE COMMAND looks at the recording, on any machine: podctl help recordings.\n" +
			"Secrets are masked as in podctl report. Look through the file before you send it: zcat FILE.\n" +
			"Only its owner can read the file. A file that exists is not replaced.\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: []cli.Flag{shell.NoHeadersFlag()},
		Action: func(c *cli.Context) error {
			o := recordOptions{Globals: shell.ReadGlobals(c), file: c.Args().First()}
			var err error
			if o.format, err = shell.ReadReportOutput(c); err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runRecord(ctx, e, o) })
		},
	}
}

func runRecord(ctx context.Context, e *shell.Env, o recordOptions) error {
	f, err := shell.CreateFile(e, o.file)
	if err != nil {
		return err
	}
	steps := shell.StartSteps(e, "record")
	summary, err := newReporter(e, reportOptions{Globals: o.Globals}, nil).record(ctx, e, steps.Begin, f)
	steps.Stop()
	if errors.Is(err, recording.ErrFull) {
		fmt.Fprintf(e.Errw, "warning: %v: the rest is not in it\n", err)
		err = nil
	}
	if err := f.Finish(err); err != nil {
		return err
	}
	summary.File = f.Name
	return o.print(e, summary)
}

// RecordSummary is the output of `podctl record`, on stderr if the recording itself is on
// stdout.
type RecordSummary struct {
	File    string `json:"file"`    // - is stdout
	Runtime string `json:"runtime"` // name and version
	Bytes   int64  `json:"bytes"`   // size of the file
	Answers int    `json:"answers"` // answers of the runtime
	Errors  int    `json:"errors"`  // errors in place of answers
	Masked  int    `json:"masked"`  // texts that are masked
	// objects, such as pods with large annotations, of which parts were left out
	Cut []string `json:"cut,omitempty"`
}

func (o recordOptions) print(e *shell.Env, s RecordSummary) error {
	out := e.Out
	if o.file == "-" {
		out = e.Errw
	}
	if !o.format.IsTable() {
		return o.format.NewStream(out).Print("", s)
	}
	_, err := io.WriteString(out, s.text()+"\n")
	return err
}

// text is the summary as a person reads it.
func (s RecordSummary) text() string {
	text := "recorded " + s.Runtime + ": " + output.Plural(s.Answers, "answer")
	if s.Errors > 0 {
		text += fmt.Sprintf(", %d of them errors", s.Errors)
	}
	text += fmt.Sprintf(" · %s masked · %s", output.Plural(s.Masked, "text"), sizeText(s.Bytes))
	if n := len(s.Cut); n > 0 {
		const shown = 5
		text += fmt.Sprintf("\nwarning: %s too large, and cut: %s", output.Plural(n, "object"), output.OneLine(strings.Join(s.Cut[:min(n, shown)], ", ")))
		if n > shown {
			text += fmt.Sprintf(" and %d more", n-shown)
		}
	}
	if s.File != "-" {
		text += fmt.Sprintf("\nhint: podctl -r tape:%s pods", s.File)
	}
	return text
}

// sizeText is a size in whole units.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return output.Plural(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}

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
	_, _ = r.host.Kubelet(ctx) // where the secrets of its pods are
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
