package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Run runs a command line of this program in this process, without its name, and returns the
// exit code. It ends soon after ctx does.
type Run func(ctx context.Context, out, errw io.Writer, args ...string) int

// reportOptions are the options of `podctl report`.
type reportOptions struct {
	shell.Globals
	file string
}

func reportCommand(e *shell.Env, run Run) *cmdline.Command {
	return &cmdline.Command{
		Name:    "report",
		Usage:   "collect everything about this node's pods into one file that can be sent",
		Args:    cmdline.Args{Instead: func(name string) string { return "podctl report -o " + name }},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NodeFile,
		Description: "Writes a gzipped tar archive; index.html in it is a page for a person, with what is wrong first.\n" +
			"It has the answers of doctor, pods, starting, terminating, orphans, pleg check, describe, events,\n" +
			"images and version, the runtime's own answers, the configuration of runtime and kubelet, and\n" +
			"their logs and the kernel's, at most " + fmt.Sprint(report.LogLines) + " lines of " + output.ShortTime(report.LogSince) + ".\n" +
			"Secrets are masked; the page lists what and how. Look through the report before you send it.\n" +
			"Each part has a timeout: of a runtime that hangs there is a report, too, within " + output.ShortTime(report.DefaultLimits.Timeout) + ".\n" +
			"Only its owner can read the file. A file that exists is not replaced.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, DefaultText: "podctl-report-HOST-TIME.tgz", Usage: "write the archive to this `FILE`; - is standard output"},
		},
		Action: func(c *cli.Context) error {
			o := reportOptions{Globals: shell.ReadGlobals(c), file: c.String("output")}
			o.Output = ""
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runReport(ctx, e, o, run) })
		},
	}
}

func runReport(ctx context.Context, e *shell.Env, o reportOptions, run Run) error {
	b := report.Bundle{Host: hostname(), Kernel: kernel(e.Procs), Version: shell.Version(), Time: e.Now()}
	b.Dir = report.DirName(b.Host, b.Time)
	f, err := shell.CreateFile(e, cmp.Or(o.file, b.Dir+".tgz"))
	if err != nil {
		return err
	}
	r := newReporter(e, o, run)
	if err := f.Finish(r.write(ctx, &b, f)); err != nil {
		return err
	}
	fmt.Fprintln(e.Errw, reportText(&b, f.Name))
	return nil
}

// write collects the parts and writes the report.
func (r *reporter) write(ctx context.Context, b *report.Bundle, to io.Writer) error {
	r.found(r.specValues(ctx))
	steps := shell.StartSteps(r.env, "report")
	defer steps.Stop()
	parts := r.parts()
	for i, p := range parts {
		parts[i].Collect = func(ctx context.Context) ([]report.File, error) {
			defer steps.Begin(p.Name)()
			return p.Collect(ctx)
		}
	}
	b.Results = report.Collect(ctx, parts, report.DefaultLimits, r.env.Now)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.Took = r.env.Now().Sub(b.Time)
	b.Summary = summarize(b.Results)
	defer steps.Begin("masking")()
	b.Seal(secret.NewMasker(r.secrets(), func() []byte { return identities(b.Results) }), report.DefaultLimits)
	return b.Write(to)
}

// reportText is what is said of a report that was written.
func reportText(b *report.Bundle, name string) string {
	var failed []string
	masked := 0
	for _, r := range b.Results {
		if r.Err != "" {
			failed = append(failed, r.Name)
		}
	}
	for _, m := range b.Masked {
		masked += m.Count
	}
	text := fmt.Sprintf("%s: %s", name, output.Plural(len(b.Results), "part"))
	if len(failed) > 0 {
		text += fmt.Sprintf(", %d of them not complete (%s)", len(failed), strings.Join(failed, ", "))
	}
	return text + fmt.Sprintf("; %s masked: open %s in it", output.Plural(masked, "text"), filepath.Join(b.Dir, report.IndexName))
}

// kernel is the name and release of the kernel.
func kernel(procs proc.FS) string {
	release, _ := os.ReadFile(filepath.Join(string(procs), "sys/kernel/osrelease")) // not on every system
	return strings.TrimSpace(runtime.GOOS + " " + string(release))
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// reporter collects the parts of a report.
type reporter struct {
	env  *shell.Env
	opts reportOptions
	run  Run
	// host reads what the report has of the host.
	host report.Host

	mu sync.Mutex
	// values are secret values that were found.
	values [][]byte
}

func newReporter(e *shell.Env, o reportOptions, run Run) *reporter {
	r := &reporter{env: e, opts: o, run: run}
	r.host = report.Host{
		Endpoint: func(ctx context.Context) (cri.Endpoint, error) {
			endpoint, _, err := shell.FindSockets(ctx, r.patient())
			return endpoint, err
		},
		Procs: e.Procs, Journal: e.Journal, KernelLog: e.KernelLog, Now: e.Now,
	}
	return r
}
