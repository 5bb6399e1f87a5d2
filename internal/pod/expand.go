package pod

import (
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// MaxExpanded is how many bytes the variables and arguments of a container may have with
// their references expanded. A few lines can ask for terabytes: each variable may refer
// to the one before it ten times. Linux executes nothing with more than 6 MiB.
const MaxExpanded = 8 << 20

// ErrExpansion reports that more than MaxExpanded bytes were asked for.
var ErrExpansion = hint.Errorf("write $$(NAME) for what is no reference; give the container large data in a volume",
	"the variables and arguments have more than %d MiB with the references to variables expanded", MaxExpanded>>20)

// Expand replaces $(NAME) by the value of that variable. What lookup does not
// know stays as it is written; $$ is a dollar, and keeps what follows it from
// being a reference (third_party/forked/golang/expansion). More than limit bytes are
// ErrExpansion.
func Expand(s string, limit int, lookup func(name string) (string, bool)) (string, error) {
	var out strings.Builder
	afterLast := len(s) - 1 - strings.LastIndexByte(s, ')') // bytes
	for {
		before, after, found := strings.Cut(s, "$")
		piece := "$"
		switch {
		case !found:
			piece, s = "", ""
		case strings.HasPrefix(after, "$"):
			s = after[1:]
		case strings.HasPrefix(after, "(") && len(after) > afterLast:
			name, rest, _ := strings.Cut(after[1:], ")")
			value, ok := lookup(name)
			if !ok {
				value = "$(" + name + ")"
			}
			piece, s = value, rest
		default:
			s = after
		}
		if len(before)+len(piece) > limit-out.Len() {
			return "", ErrExpansion
		}
		out.WriteString(before)
		out.WriteString(piece)
		if !found {
			return out.String(), nil
		}
	}
}
