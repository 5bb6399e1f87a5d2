package plugin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
)

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
