package look

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/filecopy"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/usage"
)

// cpOptions are the options of `podctl cp`.
type cpOptions struct {
	shell.Globals
	query    target.Query
	from, to filecopy.Place
	quiet    bool
}

// cpCommand returns the command `podctl cp`.
func cpCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "cp",
		Usage:   "copy files and directories into and out of containers",
		Args:    cmdline.Args{Of: cmdline.SourceDestination},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Description: "One of the two is [NAMESPACE/]POD[/CONTAINER]:PATH. A directory is copied with all below it, into\n" +
			"the destination if that is a directory, else under its name; DIR/. is its content. Mode, owner,\n" +
			"times, symlinks and hard links are kept; device nodes, FIFOs and sockets are not copied, and\n" +
			"setuid and setgid are cleared on the way to this host. As root on the host of the container\n" +
			"nothing is needed in the container; else tar.",
		Flags: append(targetFlags(byContainer), &cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print errors only"}),
		Action: func(c *cli.Context) error {
			o, err := readCp(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runCp(ctx, e, o) })
		},
	}
}

func readCp(c *cli.Context) (o cpOptions, err error) {
	o = cpOptions{Globals: shell.ReadGlobals(c), quiet: c.Bool("quiet")}
	if c.NArg() != 2 {
		return o, &shell.UsageError{Message: "two arguments are needed: SOURCE DESTINATION", Advice: "podctl cp web:/etc/hosts hosts"}
	}
	if o.from, err = filecopy.ParsePlace(c.Args().Get(0)); err != nil {
		return o, shell.Usagef("%v", err)
	}
	if o.to, err = filecopy.ParsePlace(c.Args().Get(1)); err != nil {
		return o, shell.Usagef("%v", err)
	}
	if o.from == (filecopy.Place{Path: "-"}) || o.to == (filecopy.Place{Path: "-"}) {
		return o, &shell.UsageError{Message: "- is no archive here: cp copies files", Advice: "podctl exec POD -- tar -cf - PATH, podctl exec -i POD -- tar -xf -; ./- is a file of that name"}
	}
	if (o.from.Target == "") == (o.to.Target == "") {
		return o, &shell.UsageError{Message: "one of SOURCE and DESTINATION must be in a container, and the other on this host", Advice: "podctl cp web:/etc/hosts hosts; ./a:b is a file of this host"}
	}
	o.query, err = readTarget(c, []string{o.from.Target + o.to.Target})
	return o, err
}

func runCp(ctx context.Context, e *shell.Env, o cpOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := s.One(ctx, o.query)
	if err != nil {
		return err
	}
	if len(t.DefaultedFrom) > 0 && !o.quiet {
		fmt.Fprintln(e.Errw, defaultNote(t))
	}
	container, err := filecopy.OpenContainer(ctx, s.Client, t, o.to.Target != "")
	if err != nil {
		return err
	}
	defer func() { _ = container.Close() }() // nothing is written by it
	from, to := filecopy.End(filecopy.Host()), container
	if o.from.Target != "" {
		from, to = container, from
	}
	return finish(ctx, copyGrace, func() error { return o.copy(ctx, e, from, to) })
}

// copyGrace is how long a copy may take to end when it is interrupted. A read of a
// file system that hangs does not end at all.
const copyGrace = 500 * time.Millisecond

// finish returns when do has, at the latest a grace time after ctx.
func finish(ctx context.Context, grace time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return ctx.Err()
	}
}

func (o cpOptions) copy(ctx context.Context, e *shell.Env, from, to filecopy.End) error {
	source, err := from.Open(ctx, o.from)
	if err != nil {
		return err
	}
	sink, made, err := to.Create(ctx, o.to, o.from)
	if err != nil {
		return err
	}
	var done copyProgress
	bar := shell.StartProgress(e, !o.quiet, done.text)
	begun := e.Now()
	result, err := filecopy.Copy(ctx, source, sink, filecopy.Options{ToHost: o.to.Target == "", Name: o.from.String(), Progress: done.set})
	bar.Stop()
	if !o.quiet && result.Files > 0 && ctx.Err() == nil {
		fmt.Fprintf(e.Errw, "copied %s, %s in %s to %s\n", output.Plural(result.Files, "file"), usage.Size(uint64(result.Bytes)), output.ShortTime(e.Now().Sub(begun)), made)
	}
	if result.Cleared > 0 {
		fmt.Fprintf(e.Errw, "warning: setuid and setgid of %s were cleared\n", output.Plural(result.Cleared, "file"))
	}
	if result.AbsoluteLinks > 0 {
		fmt.Fprintf(e.Errw, "warning: %s\n", absoluteText(result, o.to.Target == ""))
	}
	return err
}

// absoluteText describes where the absolute symlinks of a copy point.
func absoluteText(r filecopy.Result, toHost bool) string {
	whose := "the container"
	if toHost {
		whose = "this host"
	}
	text := "absolute symlinks lead to files of " + whose + " now: " + output.OneLine(r.FirstAbsoluteLink)
	if more := r.AbsoluteLinks - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// copyProgress is how far a copy is.
type copyProgress struct {
	mu  sync.Mutex
	now filecopy.Progress
}

func (p *copyProgress) set(now filecopy.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
}

func (p *copyProgress) text(took time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return barText(p.now, took)
}

// barWidth is the width of a bar in characters.
const barWidth = 30

// barText is a line of progress: a bar if the size is known.
func barText(p filecopy.Progress, took time.Duration) string {
	rate := usage.Size(uint64(float64(p.Bytes)/max(took.Seconds(), 0.001))) + "/s"
	if p.Total == 0 {
		return fmt.Sprintf("%s, %s, %s", output.Plural(p.Files, "file"), usage.Size(uint64(p.Bytes)), rate)
	}
	done := min(float64(p.Bytes)/float64(p.Total), 1)
	full := int(done * barWidth)
	line := make([]byte, barWidth)
	for i := range line {
		if line[i] = '.'; i < full {
			line[i] = '#'
		}
	}
	return fmt.Sprintf("[%s] %3.0f%% of %s, %s", line, 100*done, usage.Size(uint64(p.Total)), rate)
}
