package pod

import (
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

var (
	grpcFrame = lazyregexp.New(`rpc error: code = \w+ desc = `)
	// idWord is a word, delimited as runtimes quote, that has an id of 64 digits.
	idWord = lazyregexp.New(`[^\s"'\\]*\b[0-9a-f]{64}\b[^\s"'\\]*`)
	longID = lazyregexp.New(`\b[0-9a-f]{64}\b`)
)

// ErrorText returns the text of an error as people read it: without the frame of gRPC, and with
// short ids. Ids in paths and digests stay, so that they can be copied.
func ErrorText(text string) string {
	return idWord().ReplaceAllStringFunc(grpcFrame().ReplaceAllString(text, ""), func(word string) string {
		if strings.ContainsAny(word, "/@") || strings.Contains(word, "sha256:") {
			return word
		}
		return longID().ReplaceAllStringFunc(word, ShortID)
	})
}

// Joined joins the parts that are not empty.
func Joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// Prefixed returns the text after a prefix, "" if it is empty.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
