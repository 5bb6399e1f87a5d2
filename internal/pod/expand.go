package pod

import "strings"

// Expand replaces $(NAME) by the value of that variable. What lookup does not
// know stays as it is written; $$ is a dollar, and keeps what follows it from
// being a reference (third_party/forked/golang/expansion).
func Expand(s string, lookup func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "(") && strings.Contains(after, ")"):
			name, rest, _ := strings.Cut(after[1:], ")")
			if value, ok := lookup(name); ok {
				out.WriteString(value)
			} else {
				out.WriteString("$(" + name + ")")
			}
			s = rest
		default:
			out.WriteByte('$')
			s = after
		}
	}
}
