package plugin

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/pods/report"
)

// writeFiles writes the reports of the nodes as one, a directory for each.
func (r *run) writeFiles(answers []answer) error {
	all := report.Joined{Dir: report.DirName("nodes", r.env.Now()), Time: r.env.Now()}
	for _, a := range answers {
		n := report.Node{Name: a.Node, Archive: []byte(a.text)}
		if a.Failure != nil {
			n.Err = string(a.Failure.Reason) + ": " + a.Failure.Message
		}
		all.Nodes = append(all.Nodes, n)
	}
	f, err := shell.CreateFile(r.env, cmp.Or(r.file, all.Dir+".tgz"))
	if err != nil {
		return err
	}
	return f.Finish(all.Write(f))
}

// manifestFlags are the flags of preempt that name manifests, in the order in which their
// pods arrive.
var manifestFlags = []string{"filename", "what-if"}

// isManifest reports whether a flag names manifests.
func isManifest(f cli.Flag) bool { return slices.Contains(manifestFlags, cmdline.Describe(f).Name) }

// readManifests returns the pods of the manifests that the command line names, which are
// files of this machine, as kubectl's are: nodes read them from their standard input. nil
// if the command names none.
func readManifests(ctx context.Context, e *shell.Env, c *cli.Context) ([]byte, error) {
	var paths []string
	for _, f := range c.Command.Flags {
		if isManifest(f) {
			paths = append(paths, c.StringSlice(f.Names()[0])...)
		}
	}
	if len(paths) == 0 {
		return nil, nil
	}
	set, err := manifest.Load(ctx, paths, manifest.LoadOptions{Stdin: e.In, ForCluster: true})
	if err != nil {
		return nil, err
	}
	if len(set.Pods) == 0 {
		return nil, fmt.Errorf("no pods in %s", strings.Join(paths, ", "))
	}
	var documents [][]byte
	for _, p := range set.Pods {
		documents = append(documents, p.Document)
	}
	return bytes.Join(documents, []byte("\n---\n")), nil
}

// report prints the answers to stdout, and to stderr what the nodes warned of and which
// have not answered. The error is the exit code.
func (r *run) report(ctx context.Context, answers []answer) error {
	items := 0
	for _, a := range answers {
		items += len(a.list.Items)
	}
	if err := r.print(answers); err != nil {
		return err
	}
	var outcomes []fleet.Outcome
	hint, silent := "", 0
	for _, a := range answers {
		outcomes = append(outcomes, a.Outcome)
		fmt.Fprint(r.env.Errw, fleet.Prefix(a.Node, a.stderr))
		if a.Failure != nil {
			silent++
			hint = max(hint, a.hint)
			fmt.Fprintf(r.env.Errw, "no answer from %s: %s: %s\n", a.Node, a.Failure.Reason, output.OneLine(a.Failure.Message))
		}
	}
	switch {
	case silent > 0:
		fmt.Fprintf(r.env.Errw, "podctl: %d of %s did not answer\n", silent, output.Plural(len(answers), "node"))
		if hint != "" {
			fmt.Fprintf(r.env.Errw, "  hint: %s\n", hint)
		}
	case r.as == asCells && items == 0 && r.list.IsTable():
		fmt.Fprintf(r.env.Errw, "nothing to list on %s\n", output.Plural(len(answers), "node"))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if code := fleet.Worst(outcomes, shell.ExitUnreachable); code != 0 {
		return &shell.StatusError{Code: code}
	}
	return nil
}

// print prints the answers to stdout.
func (r *run) print(answers []answer) error {
	if r.as == asFile {
		return r.writeFiles(answers)
	}
	if r.as != asText {
		name := r.list.Name()
		return r.list.Print(r.env.Out, merge(answers, name == "json" || name == "yaml"))
	}
	var text strings.Builder
	for _, a := range answers {
		text.WriteString(fleet.Prefix(a.Node, a.text))
	}
	_, err := fmt.Fprint(r.env.Out, text.String())
	return err
}
