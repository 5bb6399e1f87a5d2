package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/plugin"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

// The names under which podctl is a plugin of kubectl: of `kubectl podctl`, the name that
// kubectl looks for if a plugin's has a dash, and what kubectl runs to complete its words.
const (
	pluginName       = "kubectl-podctl"
	pluginAlias      = "kubectl_podctl"
	pluginCompletion = "kubectl_complete-podctl"
)

// programName is the name by which the program was started.
func programName(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(args[0]), ".exe")
}

// newPluginApp is podctl whose commands run on nodes of a cluster.
func newPluginApp(e *shell.Env) (*cmdline.App, *plugin.Plugin) {
	app, p := newApp(e), &plugin.Plugin{Env: e}
	p.Install(app)
	pages := helpPages(app)
	pages.Program = plugin.Program
	pages.Globals = func() []cli.Flag { return append(shell.GlobalFlags(), plugin.Flags()...) }
	pages.Install()
	return app, p
}

func runPlugin(e *shell.Env, args []string) error {
	app, p := newPluginApp(e)
	ordered, err := order(app, args)
	if err != nil {
		return err
	}
	return p.Run(app, ordered)
}

// nodesTimeout bounds the API server's answer to a completion.
const nodesTimeout = 2 * time.Second

// What a completion ends with: whether kubectl completes names of files, too.
const (
	completeFiles = ":0"
	completeWords = ":4"
	completeDirs  = ":16"
)

// completePlugin prints what may stand in the place of the last word, as kubectl reads it:
// a line WORD<tab>USAGE for each, and one of the above. It does not fail.
func completePlugin(e *shell.Env, words []string) error {
	app, p := newPluginApp(e)
	done := newCompleter(app).Complete(words)
	if done.Live == cmdline.Nodes {
		done.Candidates = append(done.Candidates, inTime(context.Background(), nodesTimeout, func(ctx context.Context) []cmdline.Candidate {
			return p.NodeCandidates(ctx, done)
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
