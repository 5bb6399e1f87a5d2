package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/fleet"
)

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
