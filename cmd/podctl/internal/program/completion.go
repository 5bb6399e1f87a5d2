package program

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/target"
)

// completions are the scripts, by shell.
//
//go:embed completions/*
var completions embed.FS

// completionShells are the shells that have a script.
var completionShells = []string{"bash", "zsh", "fish", "powershell"}

func choicesOf(words []string) []cmdline.Choice {
	choices := make([]cmdline.Choice, len(words))
	for i, word := range words {
		choices[i].Word = word
	}
	return choices
}

func completionCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "completion",
		Usage:       "print the completion script of a shell: " + strings.Join(completionShells, ", "),
		Args:        cmdline.Args{Of: cmdline.Word, Name: "SHELL", Words: choicesOf(completionShells)},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.Here,
		Description: "Completes commands, options and their values, and the names of pods, containers, namespaces and\n" +
			"images that the runtime has, if it answers within " + completionTimeout.String() + ", or\n" + completionEnv + ". For this shell:\n\n" +
			"  bash        source <(podctl completion bash)\n" +
			"  zsh         source <(podctl completion zsh)\n" +
			"  fish        podctl completion fish | source\n" +
			"  powershell  podctl completion powershell | Out-String | Invoke-Expression",
		Action: func(c *cli.Context) error {
			if !slices.Contains(completionShells, c.Args().First()) || c.NArg() != 1 {
				return &shell.UsageError{Message: "no shell given", Advice: "one of: " + strings.Join(completionShells, ", ")}
			}
			script, err := completions.ReadFile("completions/" + c.Args().First())
			if err == nil {
				_, err = e.Out.Write(script)
			}
			return err
		},
	}
}

// completionTimeout bounds what a completion asks of the runtime; the variable
// completionEnv overrides it.
const (
	completionTimeout = 60 * time.Millisecond
	completionEnv     = "PODCTL_COMPLETION_TIMEOUT"
)

// completionValues are those of options, by the name of the value in their usage.
var completionValues = map[string][]string{
	"FORMAT":    {"json", "yaml", "wide", "name", "table", "jsonpath=", "go-template=", "custom-columns="},
	"STATE":     {"complete", "ready"},
	"CONDITION": {"condition=Ready", "delete", "exit", "exit=0", "jsonpath="},
	"OWNER":     {"podctl", "kubelet", "other"},
	"DRIVER":    {"cgroupfs", "systemd"},
	"STREAM":    {"stdout", "stderr"},
	"ENDPOINT":  {"sim:"},
}

// completeCommand prints what may stand in the place of the last argument: a line
// WORD<tab>USAGE for each, :files or :dirs for names of files. It does not fail.
func completeCommand(e *shell.Env, app func() *cmdline.App) *cmdline.Command {
	return &cmdline.Command{
		Name: "__complete", Hidden: true,
		Usage:       "print the completions of the last word, for the scripts of podctl completion",
		Args:        cmdline.Args{Of: cmdline.Anything, Many: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.Here,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "new-word", Usage: "complete a new word after the others"},
			&cli.DurationFlag{Name: "timeout", Value: completionTimeout, EnvVars: []string{completionEnv}, Usage: "`DURATION` for the runtime's answer"},
		},
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) > 0 && words[0] == "--" {
				words = words[1:]
			}
			if c.Bool("new-word") {
				words = append(words, "")
			}
			done := newCompleter(app()).Complete(words)
			if done.Live != cmdline.NoQuestion {
				done.Candidates = append(done.Candidates, inTime(c.Context, c.Duration("timeout"), func(ctx context.Context) []cmdline.Candidate {
					return liveCandidates(ctx, e, shell.ReadGlobals(c), done)
				})...)
			}
			return printCompletion(e, done)
		},
	}
}

func newCompleter(app *cmdline.App) cmdline.Completer {
	return cmdline.Completer{App: app, Topics: TopicNames(), Properties: properties(), Values: completionValues}
}

// properties are the words that name a pod by a property, without its value.
func properties() []string {
	var words []string
	for _, kind := range target.PropertyKinds {
		words = append(words, target.Property{Kind: kind}.String())
	}
	return words
}

// inTime returns what ask returns, nothing if that takes too long: finding out why a
// runtime does not answer takes longer than a key press may.
func inTime(ctx context.Context, timeout time.Duration, ask func(context.Context) []cmdline.Candidate) []cmdline.Candidate {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all, _ := shell.Await(ctx, func() ([]cmdline.Candidate, error) { return ask(ctx), nil })
	return all
}

func printCompletion(e *shell.Env, done cmdline.Completion) error {
	var b strings.Builder
	for _, candidate := range done.Candidates {
		fmt.Fprintf(&b, "%s%s\t%s\n", done.Prefix, output.OneLine(candidate.Word), output.OneLine(candidate.Usage))
	}
	switch {
	case done.Files:
		b.WriteString(":files\n")
	case done.Dirs:
		b.WriteString(":dirs\n")
	}
	_, err := fmt.Fprint(e.Out, b.String())
	return err
}

// nodesTimeout bounds the API server's answer to a completion.
const nodesTimeout = 2 * time.Second

// What a completion ends with: whether kubectl completes names of files, too.
const (
	completeFiles = ":0"
	completeWords = ":4"
	completeDirs  = ":16"
)

// CompletePlugin prints what may stand in the place of the last word, as kubectl reads it:
// a line WORD<tab>USAGE for each, and one of the above. nodes returns names of nodes. It
// does not fail.
func CompletePlugin(e *shell.Env, app *cmdline.App, nodes func(context.Context, cmdline.Completion) []cmdline.Candidate, words []string) error {
	done := newCompleter(app).Complete(words)
	if done.Live == cmdline.Nodes {
		done.Candidates = append(done.Candidates, inTime(context.Background(), nodesTimeout, func(ctx context.Context) []cmdline.Candidate {
			return nodes(ctx, done)
		})...)
	}
	ending := completeWords
	switch {
	case done.Files:
		ending = completeFiles
	case done.Dirs:
		ending = completeDirs
	}
	done.Files, done.Dirs = false, false
	if err := printCompletion(e, done); err != nil {
		return err
	}
	_, err := fmt.Fprintln(e.Out, ending)
	return err
}
