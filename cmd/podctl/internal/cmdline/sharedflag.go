package cmdline

import (
	"flag"

	"github.com/urfave/cli/v2"
)

// The library adds these two flags to every app and command of the process. -v is verbose.
func init() {
	cli.HelpFlag = sharedFlag{&cli.BoolFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", DisableDefaultText: true}}
	cli.VersionFlag = sharedFlag{&cli.BoolFlag{Name: "version", Usage: "print the version"}}
}

// sharedFlag is a flag that several apps parse at the same time: parsing does not write
// to it.
type sharedFlag struct{ *cli.BoolFlag }

// Apply implements cli.Flag. That of a BoolFlag writes its default value to the flag.
func (f sharedFlag) Apply(set *flag.FlagSet) error {
	own := *f.BoolFlag
	return own.Apply(set)
}
