package cmdline

import (
	"slices"
	"strings"
)

// aliasWords is the number of words of the longest alias.
const aliasWords = 2

// Aliases are the words of kubectl, crictl and docker that stand for one of the commands,
// and for which one.
func Aliases(commands []*Command) map[string]string {
	aliases := map[string]string{}
	for _, c := range commands {
		for _, alias := range c.Aliases {
			aliases[alias] = c.Name
		}
		for _, w := range c.Args.Words {
			for _, alias := range w.Aliases {
				aliases[alias] = c.Name + " " + w.Word
			}
		}
	}
	return aliases
}

// Expand replaces an alias at the beginning of words by the command that it stands for. A
// command goes before an alias.
func Expand(words []string, commands []*Command) []string {
	aliases := Aliases(commands)
	for n := min(len(words), aliasWords); n > 0; n-- {
		if n == 1 && Find(commands, words[0]) != nil {
			break
		}
		if to, known := aliases[strings.Join(words[:n], " ")]; known {
			return append(strings.Fields(to), words[n:]...)
		}
	}
	return words
}

// sortedAliases are the aliases of a command.
func (c *Command) sortedAliases() []string { return slices.Sorted(slices.Values(c.Aliases)) }
