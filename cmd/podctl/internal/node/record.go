package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/recording"
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
	summary, err := (&reporter{env: e, opts: reportOptions{Globals: o.Globals}}).record(ctx, e, steps.Begin, f)
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
