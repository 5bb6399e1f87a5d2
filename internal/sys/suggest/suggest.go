package suggest

import (
	"strings"

	"github.com/xrash/smetrics"
)

const (
	// maxWord is the longest word, in bytes, for which a near one is sought, and maxKnown
	// among how many: the words may be a manifest's, which has as many as it likes of both.
	maxWord  = 64
	maxKnown = 1000
)

// Word returns the known word that a mistyped one most likely stands for, ""
// if none is near, or if it is not sought: see maxWord.
func Word(word string, known []string) string {
	best, fewest := "", 1+min(len(word)/4, 2)
	if len(word) > maxWord || len(known) > maxKnown {
		return ""
	}
	for _, k := range known {
		if max(len(k)-len(word), len(word)-len(k)) > fewest {
			continue
		}
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
