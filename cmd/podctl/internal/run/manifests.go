package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/host"
)

// manifestOptions are the options of the commands that read manifests.
type manifestOptions struct {
	paths      []string
	configFrom []string
	replicas   int
	// strict treats warnings as errors.
	strict bool
	// accounts is what becomes of the tokens of service accounts.
	accounts serviceAccounts
	// allFiles and skipUnknown: see manifest.LoadOptions.
	allFiles, skipUnknown bool
	// objectsComplete: see manifest.LoadOptions.ObjectsComplete.
	objectsComplete bool
}

// manifestFlags are the flags of readManifestOptions.
func manifestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "config-from", Usage: "read only what is neither a pod nor a workload from this `FILE|DIR|URL`; repeatable"},
		replicasFlag(),
		serviceAccountFlag(),
		allFilesFlag(),
		skipUnknownFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "treat warnings about manifests as errors"},
	}
}

func replicasFlag() cli.Flag {
	return &cli.IntFlag{Name: "replicas", Value: 1, DefaultText: "1", Usage: "`NUMBER` of pods to run of a Deployment, ReplicaSet or StatefulSet"}
}

const (
	allFilesName    = "all-files"
	skipUnknownName = "skip-unknown-kinds"
)

func allFilesFlag() cli.Flag {
	return &cli.BoolFlag{Name: allFilesName, Usage: "read all files of a directory that do not begin with a dot, as the kubelet does"}
}

func skipUnknownFlag() cli.Flag {
	return &cli.BoolFlag{Name: skipUnknownName, Usage: "skip objects of kinds that podctl does not know, with a warning"}
}

func readManifestOptions(c *cli.Context) (manifestOptions, error) {
	r := manifestOptions{paths: c.Args().Slice(), configFrom: c.StringSlice("config-from"), replicas: c.Int("replicas"), strict: c.Bool("strict"), allFiles: c.Bool(allFilesName), skipUnknown: c.Bool(skipUnknownName)}
	switch {
	case len(r.paths) == 0:
		return manifestOptions{}, &shell.UsageError{Message: "no manifest given", Advice: "podctl " + c.Command.Name + " " + c.Command.ArgsUsage}
	case r.replicas < 1:
		return manifestOptions{}, shell.Usagef("--replicas %d is less than 1", r.replicas)
	}
	var err error
	r.accounts, err = readServiceAccounts(c)
	return r, err
}

// load reads the manifests.
func (r manifestOptions) load(ctx context.Context, e *shell.Env) (*manifest.Set, error) {
	set, err := manifest.Load(ctx, r.paths, manifest.LoadOptions{
		Stdin: e.In, Replicas: r.replicas, ConfigFrom: r.configFrom, ServiceAccounts: r.accounts.kind,
		AllFiles: r.allFiles, SkipUnknownKinds: r.skipUnknown, ObjectsComplete: r.objectsComplete, Hostname: host.Name(),
	})
	if r.strict {
		err = strictly(set, err)
	}
	return set, err
}

// strictly turns the warnings into problems.
func strictly(set *manifest.Set, err error) error {
	var problems manifest.Problems
	if err != nil && !errors.As(err, &problems) || len(set.Warnings) == 0 {
		return err
	}
	problems, set.Warnings = problems.And(set.Warnings), nil
	return problems
}

// loadPods reads at least one pod and prints the warnings.
func loadPods(ctx context.Context, e *shell.Env, r manifestOptions) (*manifest.Set, error) {
	set, err := r.load(ctx, e)
	if err != nil {
		return nil, err
	}
	for _, w := range set.Warnings {
		printWarning(e, w)
	}
	if len(set.Pods) == 0 {
		return nil, fmt.Errorf("no pods in %s", strings.Join(r.names(), ", "))
	}
	return set, nil
}

// names are the manifests as they may be printed.
func (r manifestOptions) names() []string {
	names := make([]string, len(r.paths))
	for i, path := range r.paths {
		names[i] = manifest.SourceName(path)
	}
	return names
}

func printWarning(e *shell.Env, p manifest.Problem) {
	fmt.Fprintf(e.Errw, "warning: %s\n", p)
	if p.Hint != "" {
		fmt.Fprintf(e.Errw, "  hint: %s\n", p.Hint)
	}
}
