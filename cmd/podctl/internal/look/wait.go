package look

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/await"
	"github.com/podctl/podctl/internal/pods/target"
)

// waitOptions are the options of `podctl wait`.
type waitOptions struct {
	shell.Globals
	target.Query
	condition await.Condition
	// timeout of the wait; 0 checks once.
	timeout time.Duration
	// exitCode: podctl exits with the container's code.
	exitCode bool
	format   output.Format
}

// waitCommand returns the command that waits for a condition of pods.
func waitCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "wait",
		Usage:  "wait until pods are ready or deleted, or containers have exited",
		Args:   cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true},
		Effect: cmdline.Reads,
		Data:   []any{waitData{}},
		Description: "--for is one of:\n" +
			"  condition=Ready    a condition of the pod's API status is True, or =VALUE. Of a pod whose owner\n" +
			"                     shows no status: its sandbox is ready and all of its containers run\n" +
			"  delete             the runtime holds nothing of the pod; a pod that does not exist is deleted\n" +
			"  exit[=CODE]        the container's newest attempt has exited; another CODE is a failure\n" +
			"  jsonpath={PATH}=VALUE\n" +
			"                     a value of what podctl pods -o json prints; without =VALUE, any\n" +
			"Every target is waited for; the exit code is 1 if one does not meet the condition, with what was last\n" +
			"seen of it. --exit-code exits with the container's own code.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append(targetFlags(bySelector|byContainer|byAllContainers),
			&cli.StringFlag{Name: "for", Usage: "wait for this `CONDITION`: " + await.Forms},
			&cli.DurationFlag{Name: "timeout", Value: 30 * time.Second, DefaultText: "30s", Usage: "give up after this `DURATION`; 0 checks once"},
			&cli.BoolFlag{Name: "exit-code", Usage: "exit with the container's exit code, with --for exit and a single container"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o, err := readWait(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runWait(ctx, e, o) })
		},
	}
}

func readWait(c *cli.Context) (o waitOptions, err error) {
	o = waitOptions{Globals: shell.ReadGlobals(c), timeout: c.Duration("timeout"), exitCode: c.Bool("exit-code")}
	// This command's --timeout is not that of CRI calls.
	o.Timeout = shell.CallTimeout(c)
	if c.String("for") == "" {
		return o, &shell.UsageError{Message: "no condition given", Advice: "--for " + await.Forms}
	}
	if o.condition, err = await.Parse(c.String("for")); err != nil {
		return o, &shell.UsageError{Message: "--for " + err.Error(), Advice: "one of: " + await.Forms}
	}
	if o.exitCode && o.condition.Kind != await.Exited {
		return o, shell.Usagef("--exit-code needs --for exit")
	}
	if o.format, err = shell.ReadOutput(c); err != nil {
		return o, err
	}
	o.Query, err = needTarget(c, c.Args().Slice())
	return o, err
}

// waitData is one target of `podctl wait -o json`, a line as soon as it is decided.
type waitData struct {
	Pod       string `json:"pod"`                 // NAMESPACE/NAME
	UID       string `json:"uid"`                 // of the pod
	Container string `json:"container,omitempty"` // with --for exit
	Condition string `json:"condition"`           // as it was given
	Met       bool   `json:"met"`                 // whether it is
	TimedOut  bool   `json:"timedOut,omitempty"`  // it is not yet
	Seen      string `json:"seen"`                // what was last seen
	ExitCode  *int32 `json:"exitCode,omitempty"`  // of the container, if it has exited
}

// notMetError is a target that did not meet the condition.
type notMetError struct {
	target, pod, condition, last string
	timedOut                     time.Duration // 0 if it cannot meet it any more
	checked                      bool          // once only
}

// pathError: a JSONPath has not the value.
type pathError struct{ *notMetError }

// Hint says what the path is into: not into the API object, as kubectl's.
func (e *pathError) Hint() string {
	return "the path is into what podctl pods -o json prints: podctl pods " + e.pod + " -o json"
}

func (e *notMetError) Error() string {
	switch {
	case e.checked:
		return fmt.Sprintf("%s: %s is not met: %s", e.target, e.condition, e.last)
	case e.timedOut > 0:
		return fmt.Sprintf("%s: %s is not met after %s: %s", e.target, e.condition, e.timedOut, e.last)
	}
	return fmt.Sprintf("%s: %s cannot be met: %s", e.target, e.condition, e.last)
}
