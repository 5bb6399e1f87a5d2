package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/volume"
)

// manifestOptions are the options of the commands that read manifests.
type manifestOptions struct {
	paths []string
	loadOptions
	objectsComplete bool
}

// loadOptions say how manifests are read, once or, by an agent, again and again.
type loadOptions struct {
	configFrom []string
	manifest   manifest.LoadOptions
	// strict treats warnings as errors.
	strict bool
	// tokenFile has the token of service accounts, if one is provided.
	tokenFile string
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

func readManifestOptions(c *cli.Context) (o manifestOptions, err error) {
	if o.paths = c.Args().Slice(); len(o.paths) == 0 {
		return o, &shell.UsageError{Message: "no manifest given", Advice: "podctl " + c.Command.Name + " " + c.Command.ArgsUsage}
	}
	o.loadOptions, err = readLoadOptions(c)
	return o, err
}

func readLoadOptions(c *cli.Context) (o loadOptions, err error) {
	o = loadOptions{configFrom: c.StringSlice("config-from"), strict: c.Bool("strict"), manifest: onThisMachine()}
	o.manifest.Replicas, o.manifest.AllFiles, o.manifest.SkipUnknownKinds = c.Int("replicas"), c.Bool(allFilesName), c.Bool(skipUnknownName)
	if o.manifest.Replicas < 1 {
		return o, shell.Usagef("--replicas %d is less than 1", o.manifest.Replicas)
	}
	o.manifest.ServiceAccounts, o.tokenFile, err = readServiceAccounts(c)
	return o, err
}

// onThisMachine returns the options of pods that run on this machine.
func onThisMachine() manifest.LoadOptions {
	return manifest.LoadOptions{Hostname: host.Name(), NoSELinux: host.LacksSELinux()}
}

// load reads the manifests.
func (r manifestOptions) load(ctx context.Context, e *shell.Env) (*manifest.Set, error) {
	opts := r.manifest
	opts.Stdin, opts.ConfigFrom, opts.ObjectsComplete = e.In, r.configFrom, r.objectsComplete
	set, err := manifest.Load(ctx, r.paths, opts)
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

const serviceAccountFlagName = "service-account"

func serviceAccountFlag() cli.Flag {
	return &cli.StringFlag{
		Name: serviceAccountFlagName, DefaultText: "none",
		Usage: "token of service accounts in projected volumes, `ignore|FILE`: ignore leaves it out of the volumes, FILE holds the token; without it such volumes are refused",
	}
}

// readServiceAccounts returns what becomes of the tokens of service accounts, and the file
// that has one.
func readServiceAccounts(c *cli.Context) (_ manifest.ServiceAccounts, file string, err error) {
	switch value := c.String(serviceAccountFlagName); {
	case !c.IsSet(serviceAccountFlagName):
		return manifest.AccountsRefused, "", nil
	case value == "":
		return 0, "", shell.Usagef("--%s is empty: ignore or a file", serviceAccountFlagName)
	case value == "ignore":
		return manifest.AccountsIgnored, "", nil
	default:
		if _, err := volume.ReadToken(value); err != nil {
			return 0, "", shell.Usagef("--%s: %v", serviceAccountFlagName, err)
		}
		file, err := filepath.Abs(value)
		return manifest.AccountsProvided, file, err
	}
}
