package fleet

import "strings"

// Prefix returns text with "NODE: " before each line, and a line end after the last one.
func Prefix(node, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(node + ": " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
