package cmdline

import (
	"slices"

	"github.com/urfave/cli/v2"
)

// Besides returns the shared flags that a command with flags of its own can
// have: without those whose name the command uses, and without the aliases that
// it uses.
func Besides(shared, own []cli.Flag) []cli.Flag {
	taken := FlagNames(own)
	var rest []cli.Flag
	for _, f := range shared {
		if slices.Contains(taken, f.Names()[0]) {
			continue
		}
		free := func(aliases []string) []string {
			return slices.DeleteFunc(aliases, func(name string) bool { return slices.Contains(taken, name) })
		}
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Aliases = free(f.Aliases)
		case *cli.DurationFlag:
			f.Aliases = free(f.Aliases)
		case *cli.BoolFlag:
			f.Aliases = free(f.Aliases)
		}
		rest = append(rest, f)
	}
	return rest
}
