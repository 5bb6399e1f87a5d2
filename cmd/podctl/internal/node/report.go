package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
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
	pods []string
	file string
}

func reportCommand(e *shell.Env, run Run) *cmdline.Command {
	return &cmdline.Command{
		Name:    "report",
		Usage:   "collect everything about this node's pods into one file that can be sent",
		Args:    cmdline.Args{Of: cmdline.Pod, Many: true, Optional: true, Patterns: true},
		Effect:  cmdline.Reads,
		OnNodes: cmdline.NodeFile,
		Description: "Writes a gzipped tar archive; index.html in it is a page for a person, with what is wrong first.\n" +
			"It has the answers of doctor, pods, starting, terminating, orphans, pleg check, describe, events,\n" +
			"images and version, the runtime's own answers, the configuration of runtime and kubelet, and\n" +
			"their logs and the kernel's, at most " + fmt.Sprint(report.LogLines) + " lines of " + output.ShortTime(report.LogSince) + ". With PODs, describe, events\n" +
			"and the runtime's answers about pods are about those only.\n" +
			"Secrets are masked; the page lists what and how. Look through the report before you send it.\n" +
			"Each part has a timeout: of a runtime that hangs there is a report, too, within " + output.ShortTime(report.DefaultLimits.Timeout) + ".\n" +
			"Only its owner can read the file. A file that exists is not replaced.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, DefaultText: "podctl-report-HOST-TIME.tgz", Usage: "write the archive to this `FILE`; - is standard output"},
		},
		Action: func(c *cli.Context) error {
			o := reportOptions{Globals: shell.ReadGlobals(c), pods: c.Args().Slice(), file: c.String("output")}
			o.Output = ""
			for _, name := range o.pods {
				if isArchive(name) {
					return &shell.UsageError{Message: fmt.Sprintf("%q is a file, and report takes pods", name), Advice: "podctl report -o " + name}
				}
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runReport(ctx, e, o, run) })
		},
	}
}

// isArchive reports whether a user means a file by a name, in place of a pod.
func isArchive(name string) bool {
	return slices.ContainsFunc([]string{".tgz", ".gz", ".tar", ".zip", ".tape"}, func(end string) bool { return strings.HasSuffix(name, end) }) ||
		name == "-" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../")
}

func runReport(ctx context.Context, e *shell.Env, o reportOptions, run Run) error {
	b := report.Bundle{Host: hostname(), Kernel: kernel(e.Procs), Version: shell.Version(), Time: e.Now()}
	b.Dir = report.DirName(b.Host, b.Time)
	f, err := shell.CreateFile(e, cmp.Or(o.file, b.Dir+".tgz"))
	if err != nil {
		return err
	}
	r := &reporter{env: e, opts: o, run: run}
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
	order := newReportOrder(parts)
	for i, p := range parts {
		parts[i].Collect = func(ctx context.Context) ([]report.File, error) {
			defer order.begin(ctx, p.Name)()
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

// reportOrder has the recording before the other parts: where users have written much, all at
// once take more memory than a node should spare. A runtime that hangs does not delay them for
// long.
type reportOrder struct {
	recorded chan struct{}
	heavy    chan struct{}
	// took is how long the recording took, set before recorded is closed.
	took time.Duration
}

const (
	// recordingFirst is how long the other parts wait for the recording; one that takes longer
	// than lightRecording is of much, and maxHeavy parts are collected at a time then.
	recordingFirst, lightRecording = 5 * time.Second, time.Second
	maxHeavy                       = 3
)

func newReportOrder(parts []report.Part) *reportOrder {
	o := &reportOrder{recorded: make(chan struct{}), heavy: make(chan struct{}, maxHeavy)}
	if !slices.ContainsFunc(parts, func(p report.Part) bool { return p.Name == recordingPart }) {
		close(o.recorded)
	}
	return o
}

// begin waits until a part may begin, or ctx ends, and returns what is to be called when it ends.
func (o *reportOrder) begin(ctx context.Context, name string) (end func()) {
	if name == recordingPart {
		begun := time.Now()
		return func() { o.took = time.Since(begun); close(o.recorded) }
	}
	select {
	case <-o.recorded:
		if o.took < lightRecording || o.took > recordingFirst { // else it hangs
			return func() {}
		}
	case <-time.After(recordingFirst):
		return func() {}
	case <-ctx.Done():
		return func() {}
	}
	select {
	case o.heavy <- struct{}{}:
		return func() { <-o.heavy }
	case <-ctx.Done():
		return func() {}
	}
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

	mu sync.Mutex
	// values are secret values that were found, kubeletDir the directory of a kubelet's pods.
	values     [][]byte
	kubeletDir string
}
