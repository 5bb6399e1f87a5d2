package cmdline

import "github.com/xrash/smetrics"

// Closest returns the known word that a mistyped one most likely stands for, ""
// if none is near.
func Closest(word string, known []string) string {
	best, fewest := "", 1+min(len(word)/4, 2)
	for _, k := range known {
		edits := smetrics.WagnerFischer(word, k, 1, 1, 1)
		if edits <= fewest && len(k) > 1 && (best == "" || edits < fewest) {
			best, fewest = k, edits
		}
	}
	return best
}
