package program

import (
	"context"
	"fmt"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
)

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
