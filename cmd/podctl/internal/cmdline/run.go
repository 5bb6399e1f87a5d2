package cmdline

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// Run runs a command line, which is in the order of Reorder. The library's own Run prints help
// by text/template, with which the linker keeps every method of every type: a fifth of the file.
func (a *App) Run(ordered []string) error {
	a.Flags = append(a.Flags, cli.HelpFlag, cli.VersionFlag)
	root := &cli.Command{Name: a.Name, HelpName: a.Name, Flags: a.Flags, Action: a.Action, OnUsageError: a.OnUsageError}
	for _, c := range a.Commands {
		root.Subcommands = append(root.Subcommands, c.build(c.Name))
	}
	return a.run(nil, root, ordered[1:])
}

// run runs a command with what follows its name. above is the context of the command above, nil
// for the program.
func (a *App) run(above *cli.Context, command *cli.Command, args []string) error {
	set, err := parse(command, args)
	c := cli.NewContext(a.App, set, above)
	c.Command = command
	switch {
	case err != nil:
		return command.OnUsageError(c, err, above != nil)
	case c.Bool("help"):
		return a.PrintHelp(a.Writer, command.HelpName)
	case above == nil && c.Bool("version"):
		_, err := fmt.Fprintf(a.Writer, "%s version %s\n", a.Name, a.Version)
		return err
	}
	for _, sub := range command.Subcommands {
		if sub.Name == c.Args().First() {
			return a.run(c, sub, c.Args().Tail())
		}
	}
	return command.Action(c)
}

// parse reads the flags of a command. All names of a flag have one value.
func parse(c *cli.Command, args []string) (*flag.FlagSet, error) {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	lists := map[*cli.StringSliceFlag]*whole{}
	for _, f := range c.Flags {
		if err := f.Apply(set); err != nil {
			return nil, err
		}
		value := set.Lookup(f.Names()[0]).Value
		if list, ok := f.(*cli.StringSliceFlag); ok {
			lists[list] = &whole{Value: value}
			value = lists[list]
		}
		share(set, f, value)
	}
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for f, read := range lists {
		share(set, f, read.Value)
		if read.texts != nil {
			share(set, f, cli.NewStringSlice(read.texts...))
		}
	}
	return set, twice(set, c.Flags)
}

// whole reads a list of texts, of which the library's own would split each at its commas.
type whole struct {
	flag.Value
	texts []string
}

func (w *whole) Set(text string) error {
	w.texts = append(w.texts, strings.TrimSpace(text))
	return nil
}

func share(set *flag.FlagSet, f cli.Flag, value flag.Value) {
	for _, name := range f.Names() {
		set.Lookup(name).Value = value
	}
}

// twice returns an error if a flag is given by two of its names.
func twice(set *flag.FlagSet, flags []cli.Flag) error {
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, f := range flags {
		first := ""
		for _, name := range f.Names() {
			switch {
			case given[name] && first != "":
				return fmt.Errorf("flags %s and %s are the same", Dashed(first), Dashed(name))
			case given[name]:
				first = name
			}
		}
	}
	return nil
}
