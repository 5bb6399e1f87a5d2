package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// globalCategory is the heading of the global flags.
const globalCategory = "GLOBAL OPTIONS"

// appHelp and commandHelp are the help as text; what stands in one column
// has a tab between. They are templates without anything to fill in.
func appHelp(a *cli.App) string {
	var b strings.Builder
	b.WriteString("USAGE:\n   podctl [global options] COMMAND [options] [arguments]\n\n" + indented(a.Description))
	b.WriteString("\nCOMMANDS:\n")
	for _, c := range a.Commands {
		fmt.Fprintf(&b, "   %s\t%s\n", c.Name, c.Usage)
	}
	b.WriteString("\n" + globalCategory + ", before or after the command:\n" + flagLines(a.Flags) + flagLines([]cli.Flag{cli.HelpFlag, cli.VersionFlag}))
	b.WriteString("\nEXIT CODES:\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "   %d\t%s\n", c.code, c.meaning)
	}
	b.WriteString("\npodctl COMMAND --help has the options of a command.\n")
	return b.String()
}

// printTemplate is the library's printer of help.
var printTemplate = cli.HelpPrinter

// The help of a command is made when it is asked for: all of them together take
// longer than anything else before a command begins.
func init() {
	cli.HelpPrinter = func(w io.Writer, template string, data any) {
		if c, ok := data.(*cli.Command); ok {
			template = commandHelp(c)
		}
		printTemplate(w, template, data)
	}
}

// commandHelp is the help of a command that dress has dressed.
func commandHelp(c *cli.Command) string {
	// The library puts its own "podctl" before the names of some commands.
	name := "podctl " + strings.TrimPrefix(strings.TrimPrefix(c.HelpName, "podctl "), "podctl ")
	text := "USAGE:\n   " + strings.TrimSpace(name+" [options] "+c.ArgsUsage) + "\n\n" + indented(c.Usage)
	if c.Description != "" {
		text += "\n" + indented(c.Description)
	}
	return text + subcommandLines(c.Subcommands) + "\nOPTIONS:\n" + flagLines(ownFlags(c)) + flagLines([]cli.Flag{cli.HelpFlag}) +
		"\n" + globalCategory + ":\n" + flagLines(globalFlags())
}

// ownFlags are those of a command that it does not share with all others.
func ownFlags(c *cli.Command) []cli.Flag {
	shared := append(flagNames(globalFlags()), cli.HelpFlag.Names()...)
	return slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool { return slices.Contains(shared, f.Names()[0]) })
}

// subcommandLines is "" where there are none.
func subcommandLines(list []*cli.Command) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nCOMMANDS:\n")
	for _, sub := range list {
		fmt.Fprintf(&b, "   %s\t%s\n", sub.Name, sub.Usage)
	}
	return b.String()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text + "\n") {
		if line != "\n" {
			b.WriteString("   ")
		}
		b.WriteString(line)
	}
	return b.String()
}

func flagLines(flags []cli.Flag) string {
	var b strings.Builder
	for _, f := range flags {
		b.WriteString("   " + flagLine(f) + "\n")
	}
	return b.String()
}

// exitCodes are what they mean.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done: every pod did what was waited for"},
	{exitFailed, "the operation, or a pod, failed"},
	{exitUsage, "the command line is wrong"},
	{exitUnreachable, "no runtime answers"},
	{exitInterrupted, "interrupted"},
}

// flagLine is a flag in the help: names, a tab, what it is for.
func flagLine(f cli.Flag) string {
	d := describe(f)
	line := d.names() + "\t" + d.usage
	if d.byDefault != "" {
		line += " (default: " + d.byDefault + ")"
	}
	if d.env != "" {
		line += " [$" + d.env + "]"
	}
	return line
}

// flagDoc is what is to be said of a flag. Fields without a value are "".
type flagDoc struct {
	name, short string
	value       string // the name of its value
	usage       string
	byDefault   string
	env         string
}

func describe(f cli.Flag) flagDoc {
	d := flagDoc{name: f.Names()[0]}
	for _, alias := range f.Names()[1:] {
		d.short = alias
	}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		return d
	}
	d.usage = doc.GetUsage()
	if doc.TakesValue() {
		d.value, d.byDefault = "VALUE", doc.GetDefaultText()
	}
	if parts := strings.SplitN(d.usage, "`", 3); len(parts) == 3 {
		d.value, d.usage = parts[1], strings.Join(parts, "")
	}
	for _, name := range doc.GetEnvVars() {
		d.env = name
	}
	return d
}

// names are "-r, --runtime-endpoint SOCKET".
func (d flagDoc) names() string {
	names := "    --" + d.name
	if d.short != "" {
		names = "-" + d.short + ", --" + d.name
	}
	if d.value != "" {
		names += " " + d.value
	}
	return names
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.Names()...)
	}
	return names
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
