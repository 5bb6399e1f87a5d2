package cmdline

import (
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// aliases are words of kubectl, crictl and docker that stand for a command of podctl.
var aliases = map[string]string{
	"ps": "pods", "po": "pods", "pod": "pods", "ls": "pods", "list": "pods",
	"get pods": "pods", "get pod": "pods", "get po": "pods", "get events": "events",
	"get images": "images", "img": "images",
	"delete": "rm", "rmp": "rm", "stopp": "stop", "inspectp": "inspect",
	"top pod": "top pods", "top po": "top pods", "top container": "top containers", "stats": "top containers", "statsp": "top pods",
	"image ls": "images", "image list": "images", "image pull": "pull", "image rm": "rmi", "image prune": "prune",
}

// aliasWords is the number of words of the longest alias.
const aliasWords = 2

// Expand replaces an alias at the beginning of words by the command that it stands
// for, if it is one of the commands. A command goes before an alias.
func Expand(words []string, commands []*cli.Command) []string {
	isCommand := func(name string) bool {
		return slices.ContainsFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	}
	for n := min(len(words), aliasWords); n > 0; n-- {
		if n == 1 && isCommand(words[0]) {
			break
		}
		to, known := aliases[strings.Join(words[:n], " ")]
		if !known {
			continue
		}
		// An alias may stand for another one.
		if full := append(strings.Fields(to), words[n:]...); isCommand(full[0]) || aliases[full[0]] != "" {
			return Expand(full, commands)
		}
	}
	return words
}

// AliasesOf returns the aliases of a command, sorted.
func AliasesOf(command string) []string {
	var names []string
	for alias, to := range aliases {
		if to == command {
			names = append(names, alias)
		}
	}
	slices.Sort(names)
	return names
}

// Aliases returns all aliases, sorted.
func Aliases() []string { return slices.Sorted(maps.Keys(aliases)) }
