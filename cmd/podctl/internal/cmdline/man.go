package cmdline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Man makes the man pages of an app. Pages depend on nothing but the app: they have no
// date.
type Man struct {
	Help
	// Version is that of the program.
	Version string
	// Topic returns the text of a topic of Help.Topics; its first line is its title.
	Topic func(name string) string
}

// Pages returns the pages by file name: podctl.1, podctl-COMMAND.1 for each command and
// subcommand, podctl-TOPIC.7 for each topic.
func (m Man) Pages(app *App) map[string]string {
	pages := map[string]string{app.Name + ".1": m.appPage(app)}
	var add func(commands []*Command, parent string)
	add = func(commands []*Command, parent string) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			pages[parent+"-"+c.Name+".1"] = m.commandPage(c, parent+"-"+c.Name)
			add(c.Subcommands, parent+"-"+c.Name)
		}
	}
	add(app.Commands, app.Name)
	for _, name := range m.Topics {
		title, text, _ := strings.Cut(m.Topic(name), "\n")
		p := m.page(app.Name+"-"+name, 7, strings.ToLower(title[:1])+title[1:])
		p.section("DESCRIPTION")
		p.verbatim(text)
		pages[app.Name+"-"+name+".7"] = p.String()
	}
	return pages
}

func (m Man) appPage(app *App) string {
	p := m.page(app.Name, 1, app.Usage)
	p.section("SYNOPSIS")
	p.verbatim(app.Name + " [global options] COMMAND [options] [arguments]")
	p.section("DESCRIPTION")
	p.verbatim(app.Description)
	for _, category := range Categories(app.Commands) {
		p.section(strings.ToUpper(category.Name))
		for _, c := range category.Commands {
			p.item(fmt.Sprintf("%s-%s(1)", app.Name, c.Name), c.Usage)
		}
	}
	p.section(globalCategory)
	p.flags(app.Flags)
	p.section("EXIT STATUS")
	for _, c := range m.ExitCodes {
		p.item(fmt.Sprint(c.Code), c.Meaning)
	}
	p.section("SEE ALSO")
	var topics []string
	for _, name := range m.Topics {
		topics = append(topics, fmt.Sprintf("%s-%s(7)", app.Name, name))
	}
	p.verbatim(strings.Join(topics, ", "))
	return p.String()
}

func (m Man) commandPage(c *Command, name string) string {
	p := m.page(name, 1, c.Usage)
	p.section("SYNOPSIS")
	p.verbatim(strings.TrimSpace(strings.ReplaceAll(name, "-"+c.Name, " "+c.Name) + " [options] " + c.ArgsUsage()))
	if details := c.Details(); details != "" {
		p.section("DESCRIPTION")
		p.verbatim(details)
	}
	if len(c.Subcommands) > 0 {
		p.section("COMMANDS")
		for _, sub := range c.Subcommands {
			p.item(fmt.Sprintf("%s-%s(1)", name, sub.Name), sub.Usage)
		}
	}
	p.section("OPTIONS")
	p.flags(append(slices.Clip(c.Flags), cli.HelpFlag))
	if aliases := c.sortedAliases(); len(aliases) > 0 {
		p.section("ALIASES")
		p.verbatim(strings.Join(aliases, ", "))
	}
	p.section("SEE ALSO")
	p.verbatim("podctl(1) has the global options and exit codes; podctl-targets(7), podctl-output(7)")
	return p.String()
}

// manPage is a page in the macros of man(7).
type manPage struct{ strings.Builder }

func (m Man) page(name string, section int, usage string) *manPage {
	p := &manPage{}
	fmt.Fprintf(p, ".TH %q \"%d\" \"\" %q\n", strings.ToUpper(name), section, "podctl "+m.Version)
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(usage))
	return p
}

func (p *manPage) section(name string) { fmt.Fprintf(p, ".SH %s\n", roff(name)) }

func (p *manPage) item(term, text string) {
	fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", roff(term), roff(text))
}

func (p *manPage) flags(flags []cli.Flag) {
	for _, f := range flags {
		d := Describe(f)
		text := d.Usage
		if d.Default != "" {
			text += " (default: " + d.Default + ")"
		}
		if d.Env != "" {
			text += " [$" + d.Env + "]"
		}
		p.item(strings.TrimSpace(d.Synopsis()), text)
	}
}

// verbatim keeps the lines of a text.
func (p *manPage) verbatim(text string) {
	fmt.Fprintf(p, ".nf\n%s\n.fi\n", roff(strings.Trim(text, "\n")))
}

// roff escapes text: backslashes, dashes, and control lines.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		b.WriteString(line)
	}
	return b.String()
}
