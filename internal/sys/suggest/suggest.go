package suggest

import (
	"strings"

	"github.com/xrash/smetrics"
)

// Word returns the known word that a mistyped one most likely stands for, ""
// if none is near.
func Word(word string, known []string) string {
	best, fewest := "", 1+min(len(word)/4, 2)
	for _, k := range known {
		edits := smetrics.WagnerFischer(word, k, 1, 1, 1)
		if edits <= fewest && len(k) > 1 && (best == "" || edits < fewest) {
			best, fewest = k, edits
		}
	}
	return best
}

// maxNames bounds what Names returns.
const maxNames = 3

// Names returns the known names that a name of an object most likely stands for:
// the nearest word, else those that begin with it, as the generated names of a
// Deployment's pods do. There are three of them at most.
func Names(name string, known []string) []string {
	if best := Word(name, known); best != "" {
		return []string{best}
	}
	var begin []string
	for _, k := range known {
		if name != "" && strings.HasPrefix(k, name) && len(begin) < maxNames {
			begin = append(begin, k)
		}
	}
	return begin
}
