// Package plural counts things in English.
package plural

import (
	"fmt"
	"strings"
)

// Of is "1 pod", "3 pods" or "2 processes".
func Of(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "s"):
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
