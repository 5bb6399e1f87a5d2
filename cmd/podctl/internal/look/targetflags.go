package look

import (
	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/target"
)

// targetParts are the parts of a target that a command takes beside words, -n and
// -A: see targetFlags.
type targetParts uint8

const (
	// bySelector: several pods may be meant; adds --selector.
	bySelector targetParts = 1 << iota
	// byContainer: a container is meant; adds --container.
	byContainer
	// byAttempt: an attempt of it is meant; adds --attempt and --previous.
	byAttempt
	// byAllContainers: all containers of a pod may be meant; adds --all-containers.
	byAllContainers
)

// targetFlags are the flags of readTarget.
func targetFlags(parts targetParts) []cli.Flag {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, DefaultText: "default, else any", Usage: "`NAMESPACE` of names without one"},
		&cli.BoolFlag{Name: "all-namespaces", Aliases: []string{"A"}, Usage: "pods of all namespaces, even with --namespace"},
	}
	if parts&bySelector != 0 {
		flags = append(flags, shell.SelectorFlag())
	}
	if parts&byContainer != 0 {
		flags = append(flags, &cli.StringFlag{Name: "container", Aliases: []string{"c"}, DefaultText: "the pod's default", Usage: "`NAME` of the container"})
	}
	if parts&byAttempt != 0 {
		flags = append(flags,
			&cli.UintFlag{Name: "attempt", DefaultText: "newest", Usage: "`NUMBER` of the container's attempt, counted from 0"},
			&cli.BoolFlag{Name: "previous", Aliases: []string{"p"}, Usage: "the attempt that ended last before the one that runs, as kubectl logs -p"},
		)
	}
	if parts&byAllContainers != 0 {
		flags = append(flags, &cli.BoolFlag{Name: "all-containers", Usage: "all containers of the pod"})
	}
	return flags
}

// readTarget reads what the user names by words and by the flags of targetFlags.
func readTarget(c *cli.Context, words []string) (target.Query, error) {
	q := target.Query{
		Words: words, Namespace: c.String("namespace"), AllNamespaces: c.Bool("all-namespaces"),
		Container: c.String("container"), Previous: c.Bool("previous"), AllContainers: c.Bool("all-containers"),
	}
	var err error
	if q.Selector, err = shell.ReadSelector(c); err != nil {
		return q, err
	}
	if c.IsSet("attempt") {
		q.Attempt = new(uint32(c.Uint("attempt")))
	}
	switch {
	case q.Previous && q.Attempt != nil:
		return q, shell.Usagef("--previous and --attempt exclude each other")
	case q.AllContainers && q.Container != "":
		return q, shell.Usagef("--all-containers and --container exclude each other")
	}
	return q, nil
}

// needTarget is readTarget for a command that means no pod by default.
func needTarget(c *cli.Context, words []string) (target.Query, error) {
	q, err := readTarget(c, words)
	if err == nil && !q.Names() {
		return q, &shell.UsageError{Message: "no pod given", Advice: "podctl " + c.Command.Name + " [NAMESPACE/]POD; podctl pods lists them"}
	}
	return q, err
}
