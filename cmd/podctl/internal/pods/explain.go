package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/why"
)

// explainOptions are the options of `podctl explain`.
type explainOptions struct {
	format  output.Format
	noTrunc bool
	step    why.Step
	args    []string
}

// Explanation is one error of `podctl explain -o json`.
type Explanation struct {
	Step       why.Step       `json:"step,omitempty"` // in which it fails, as in podctl starting; stop if it is a pod's end; missing if it is not known
	Layer      why.Layer      `json:"layer"`          // what it names, as in podctl starting and terminating; - if none
	Confidence why.Confidence `json:"confidence"`     // observed, likely or unknown
	Meaning    string         `json:"meaning"`        // what it means
	Hint       string         `json:"hint"`           // the next command to try
	Text       string         `json:"text"`           // the error
}

func explainCommand(e *shell.Env) *cmdline.Command {
	steps := make([]string, 0, len(why.Steps()))
	for _, step := range why.Steps() {
		steps = append(steps, string(step))
	}
	return &cmdline.Command{
		Name:        "explain",
		Usage:       "explain an error text of a runtime, kubelet or CNI plugin: step, layer, what it means, and the next command to try",
		Args:        cmdline.Args{Of: cmdline.Text, Many: true, Optional: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.Here,
		Data:        []any{Explanation{}},
		Description: "The text is an event, lines of the log of a kubelet, containerd or CRI-O, or the output of\n" +
			"kubectl describe pod; of a file, or of standard input with - or without an argument. Each kind of\n" +
			"error in it has a row: STEP and LAYER as in podctl starting, SURE is how sure that is. At most 1 MiB\n" +
			"is read. Neither a runtime nor root is needed. The exit code is 1 if nothing of the text is known.\n" +
			"-o is " + output.Formats + ".",
		Flags: []cli.Flag{
			shell.NoHeadersFlag(),
			&cli.StringFlag{Name: "step", DefaultText: "what the text says", Usage: "`STEP` in which the error came: " + strings.Join(steps, ", ")},
		},
		Action: func(c *cli.Context) error {
			format, err := shell.ReadOutput(c)
			if err != nil {
				return err
			}
			o := explainOptions{format: format, noTrunc: shell.ReadGlobals(c).NoTrunc, step: why.Step(c.String("step")), args: c.Args().Slice()}
			if o.step != "" && !slices.Contains(why.Steps(), o.step) {
				return shell.Usagef("--step %q is none of %s", o.step, strings.Join(steps, ", "))
			}
			if len(o.args) == 0 && shell.Terminal(e.In) != nil {
				return shell.Usagef("expected a text, a file, or - for standard input")
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runExplain(ctx, e, o) })
		},
	}
}

var errNotKnown = errors.New("nothing is known of this text")

func runExplain(ctx context.Context, e *shell.Env, o explainOptions) error {
	text, err := readText(ctx, e, o.args)
	if err != nil {
		return err
	}
	o.format.Width = e.TableWidth(o.noTrunc)
	l := output.List{Header: []string{"STEP", "LAYER", "SURE", "MEANING"}}
	for _, m := range why.Explain(text, o.step) {
		l.Items = append(l.Items, output.Item{
			Name: string(m.Layer), Data: Explanation{m.Step, m.Layer, m.Confidence, m.Meaning, m.Hint, m.Text},
			Cells: []string{cmp.Or(string(m.Step), "-"), string(m.Layer), string(m.Confidence), m.Meaning},
			Notes: []string{"  " + shortened(output.OneLine(m.Text), o.noTrunc), "  hint: " + m.Hint},
		})
	}
	if err := o.format.Print(e.Out, l); err != nil {
		return err
	}
	if len(l.Items) == 0 {
		return errNotKnown
	}
	return nil
}

// maxShownText is how much of an error is shown in a table, in runes.
const maxShownText = 300

func shortened(text string, whole bool) string {
	runes := []rune(text)
	if whole || len(runes) <= maxShownText {
		return text
	}
	return string(runes[:maxShownText/2]) + " … " + string(runes[len(runes)-maxShownText/2:])
}

// readText returns the text that the arguments are or name, at most why.MaxText bytes of it.
func readText(ctx context.Context, e *shell.Env, args []string) (string, error) {
	from, name := e.In, "standard input"
	if len(args) > 1 || len(args) == 1 && args[0] != "-" {
		text := strings.Join(args, " ")
		info, err := os.Stat(args[0])
		switch {
		case len(args) > 1 || err != nil:
			return text, nil
		case info.IsDir():
			return "", fmt.Errorf("%s is a directory", args[0])
		}
		f, err := os.Open(args[0])
		if err != nil {
			return "", err
		}
		defer f.Close()
		from, name = f, args[0]
	}
	text, err := shell.Await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(from, why.MaxText+1)) })
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case len(text) > why.MaxText:
		fmt.Fprintf(e.Errw, "warning: only the first MiB of %s is read\n", name)
		text = text[:why.MaxText]
	}
	return string(text), nil
}
