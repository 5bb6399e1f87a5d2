package cmdline

import (
	"flag"
	"strings"

	"github.com/urfave/cli/v2"
)

// FlagDoc documents a flag. Fields without a value are "".
type FlagDoc struct {
	Name, Short string
	// Long is another long name.
	Long string
	// Value is the name of its value, for instance DIR.
	Value   string
	Usage   string
	Default string
	// Env is its environment variable.
	Env string
}

// Describe returns the documentation of a flag.
func Describe(f cli.Flag) FlagDoc {
	d := FlagDoc{Name: f.Names()[0]}
	for _, alias := range f.Names()[1:] {
		if len(alias) == 1 {
			d.Short = alias
		} else {
			d.Long = alias
		}
	}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return d
	}
	d.Usage = doc.GetUsage()
	if doc.TakesValue() {
		d.Value, d.Default = "VALUE", strings.Trim(doc.GetDefaultText(), `"`)
	}
	if parts := strings.SplitN(d.Usage, "`", 3); len(parts) == 3 {
		d.Value, d.Usage = parts[1], strings.Join(parts, "")
	}
	for _, name := range doc.GetEnvVars() {
		d.Env = name
	}
	return d
}

// Synopsis is "-r, --runtime-endpoint SOCKET".
func (d FlagDoc) Synopsis() string {
	names := "--" + d.Name
	if d.Long != "" {
		names = "--" + d.Long + ", " + names
	}
	if d.Short != "" {
		names = "-" + d.Short + ", " + names
	} else {
		names = "    " + names
	}
	if d.Value != "" {
		names += " " + d.Value
	}
	return names
}

// row is a flag in the help.
func (d FlagDoc) row() row {
	text := d.Usage
	if d.Default != "" {
		text += " (default: " + d.Default + ")"
	}
	if d.Env != "" {
		text += " [$" + d.Env + "]"
	}
	return row{d.Synopsis(), text}
}

// FlagNames returns all names of the flags.
func FlagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return names
}

// Dashed is a flag's name as it is typed.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

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
