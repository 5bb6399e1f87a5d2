// Package lazyregexp compiles regular expressions when they are first used: the start of every
// other command would be slower by all of them.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns what returns the compiled expression, which has to be one.
func New(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
