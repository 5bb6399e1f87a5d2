package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/attach"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/lab/tracing"
	"github.com/podctl/podctl/internal/sys/suggest"
)

// traceOptions are the options of `podctl trace`.
type traceOptions struct {
	shell.Globals
	listen  string // absolute, "" for a socket of its own
	command []string
	attach  bool
	filter  trace.Filter
	secrets bool
	// inFlight is the age from which a call in flight is printed.
	inFlight time.Duration
	last     time.Duration // 0: until an interrupt, or the end of the command
	file     string        // "" for the standard streams
	format   output.Format
}

func traceCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "trace",
		Usage:   "show every CRI call as it passes: caller, method, pod, duration, error",
		Args:    cmdline.Args{Rest: cmdline.MayProgram},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{trace.Data{}},
		Description: "Passes the bytes of callers on to the runtime and reads a copy of them: calls, streams, deadlines\n" +
			"and methods that podctl does not know pass unchanged. Calls come from those who use the SOCKET of\n" +
			"--listen, from COMMAND, which finds the socket in CONTAINER_RUNTIME_ENDPOINT and\n" +
			"IMAGE_SERVICE_ENDPOINT, or with --attach from all callers of the runtime: a kubelet goes on\n" +
			"without a failed call. Ids are shown as the names of their pods and containers.\n" +
			"Environment variables, registry credentials, the arguments and output of exec, and manifests in\n" +
			"annotations are masked. Ctrl-C ends the trace, and the connections that pass through it.\n" +
			"With COMMAND the trace goes to standard error unless --write names a file, and the exit code is\n" +
			"the command's.\n\n" +
			"   podctl trace --listen /run/trace.sock\n" +
			"   podctl trace --attach --for 30s\n" +
			"   podctl trace -- crictl ps\n" +
			"   podctl trace -o json --write calls.json --pod web -- podctl run web.yaml\n\n" +
			"-o is " + output.DataFormats + ", of one object at a time.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", DefaultText: "one for COMMAND", Usage: "unix `SOCKET` to create, with mode 0600; one that a process serves is refused"},
			&cli.BoolFlag{Name: "attach", Usage: "trace the callers that the runtime has, without restarting anything: take the place of its socket, until the end"},
			&cli.StringSliceFlag{Name: "method", Usage: "show only calls of this CRI `METHOD` or pattern, for example List*; repeatable"},
			&cli.StringSliceFlag{Name: "pod", Usage: "show only calls about this `[NAMESPACE/]POD` or pattern; repeatable"},
			&cli.StringSliceFlag{Name: "caller", Usage: "show only calls of this `PROCESS`, a pid, a name or a pattern; repeatable"},
			&cli.DurationFlag{Name: "slower", DefaultText: "all", Usage: "show only calls that took this `DURATION` or longer"},
			&cli.BoolFlag{Name: "failed", Usage: "show only calls that ended with an error"},
			&cli.DurationFlag{Name: "in-flight", Value: 5 * time.Second, Usage: "show a call once when it has been in flight for this `DURATION`; 0 for never"},
			&cli.BoolFlag{Name: "show-secrets", Usage: "do not mask secrets"},
			&cli.DurationFlag{Name: "for", DefaultText: "until Ctrl-C", Usage: "stop after this `DURATION`"},
			&cli.StringFlag{Name: "write", DefaultText: "standard output; standard error with COMMAND", Usage: "write the trace to a new `FILE`, which only its owner can read"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o, err := readTrace(c)
			if err != nil {
				return err
			}
			return runTrace(c.Context, e, o)
		},
	}
}

func readTrace(c *cli.Context) (traceOptions, error) {
	o := traceOptions{
		Globals: shell.ReadGlobals(c), secrets: c.Bool("show-secrets"), attach: c.Bool("attach"),
		inFlight: c.Duration("in-flight"), last: c.Duration("for"), file: c.String("write"),
		filter: trace.Filter{
			Methods: c.StringSlice("method"), Pods: c.StringSlice("pod"), Callers: c.StringSlice("caller"), Slower: c.Duration("slower"), Failed: c.Bool("failed"),
		},
	}
	words := c.Args().Slice()
	switch i := slices.Index(words, "--"); {
	case i < 0 && len(words) > 0:
		return o, &shell.UsageError{Message: "the command has to follow --", Advice: fmt.Sprintf("podctl trace -- %s …", words[0])}
	case i > 0:
		return o, shell.Usagef("unexpected argument %q before --", words[0])
	case i == 0:
		o.command = words[1:]
	}
	var err error
	switch listen := strings.TrimPrefix(c.String("listen"), "unix://"); {
	case listen == "" && len(o.command) == 0 && !o.attach:
		return o, &shell.UsageError{Message: "nothing to trace", Advice: "podctl trace --listen SOCKET, podctl trace --attach, or podctl trace -- COMMAND"}
	case o.attach && (listen != "" || len(o.command) > 0):
		return o, shell.Usagef("--attach goes neither with --listen nor with COMMAND")
	case listen != "":
		if o.listen, err = filepath.Abs(listen); err != nil {
			return o, err
		}
	}
	for flag, d := range map[string]time.Duration{"in-flight": o.inFlight, "for": o.last, "slower": o.filter.Slower} {
		if d < 0 {
			return o, shell.Usagef("--%s %s is negative", flag, d)
		}
	}
	if err := checkFilter(o.filter); err != nil {
		return o, err
	}
	o.format, err = shell.ReadReportOutput(c)
	return o, err
}

// checkFilter returns an error for a pattern that is none, and for a method that is
// probably a mistake: one that is not known may be of a newer CRI.
func checkFilter(f trace.Filter) error {
	if wrong := f.Check(); wrong != "" {
		return &shell.UsageError{Message: fmt.Sprintf("%q is not a pattern", wrong), Advice: "a * stands for any characters, a ? for one: 'List*'"}
	}
	methods := trace.MethodNames()
	for _, m := range f.Methods {
		isKnown := slices.ContainsFunc(methods, func(known string) bool { return strings.EqualFold(known, m) })
		if near := suggest.Word(m, methods); !isKnown && near != "" && !strings.ContainsAny(m, "*?[") {
			return &shell.UsageError{Message: fmt.Sprintf("--method: the CRI has no method %q", m), Advice: "did you mean " + near + "?"}
		}
	}
	return nil
}

// runTrace traces until the command ends, an interrupt, or --for. It does not call
// shell.Settle: garbage collection would delay the calls that pass.
func runTrace(ctx context.Context, e *shell.Env, o traceOptions) error {
	u := e.Unblocked()
	defer u.Flush()
	e = u.Env
	say := func(format string, args ...any) { fmt.Fprintf(e.Errw, format+"\n", args...) }
	runtime, err := tracing.Connect(ctx, o.ConnectOptions(e), say)
	if err != nil {
		return err
	}
	defer runtime.Close()
	printer, err := newTracePrinter(e, o)
	if err != nil {
		return err
	}
	err = tracing.Run(ctx, tracing.Options{
		Filter: o.filter, Secrets: o.secrets, InFlight: o.inFlight, For: o.last, Command: o.command,
		In: e.In, Out: output.Raw(e.Out), Err: output.Raw(e.Errw), Interrupts: e.Interrupts, Printer: printer, Say: say, Now: e.Now, Log: e.Log,
	}, runtime, func() (tracing.Frontend, error) {
		if o.attach {
			return attachTo(runtime, say)
		}
		l, err := tracing.Listen(o.listen)
		if err == nil && len(o.command) == 0 {
			say("tracing calls to %s at unix://%s", runtime.Endpoint.Runtime, l.Path())
		}
		return l, err
	})
	if exit, ok := errors.AsType[*tracing.ExitError](err); ok {
		return &shell.StatusError{Code: exit.Code}
	}
	if err == nil && len(o.command) == 0 {
		_ = u.Finish(ctx, func() error { return nil })
	}
	return err
}

// attachTo has the trace take the place of the runtime's socket.
func attachTo(runtime *tracing.Runtime, say func(format string, args ...any)) (tracing.Frontend, error) {
	path, isUnix := strings.CutPrefix(runtime.Endpoint.Runtime, "unix://")
	if !isUnix {
		return nil, shell.Usagef("--attach needs a runtime at a unix socket")
	}
	f, err := attach.Open(path, func(s *attach.Swap) (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(self, watchdogName, s.Path, s.Parked)
		cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PODCTL_") })
		cmd.Stderr = os.Stderr
		return cmd, nil
	}, say)
	if err != nil {
		return nil, err
	}
	runtime.Dial = f.Dial
	return f, nil
}

// watchdogName is the hidden command that undoes what --attach did.
const watchdogName = "__trace-watchdog"

// watchdogCommand is started by `podctl trace --attach`.
func watchdogCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name: watchdogName, Hidden: true, Usage: "give a runtime its socket back when podctl trace dies",
		Args:    cmdline.Args{Of: cmdline.File, Many: true},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Action: func(c *cli.Context) error {
			in, isFile := e.In.(*os.File)
			if c.NArg() != 2 || !isFile {
				return shell.Usagef("it is for podctl trace --attach")
			}
			s, err := attach.OpenSwap(c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			return attach.RunWatchdog(s, in, e.Out)
		},
	}
}
