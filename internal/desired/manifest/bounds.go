package manifest

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/podctl/podctl/internal/sys/bounded"
)

const (
	// maxDocuments bounds the documents of a source, and the objects of all sources,
	// items of lists included: small ones take a thousand times their text in memory.
	maxDocuments = 10_000
	// maxNodes bounds the nodes of a source, which may be a list of pods, and maxValues
	// the values of one object in it.
	maxNodes, maxValues = bounded.MaxNodes, 100_000
	// maxProblems is how many problems are found before no more is read.
	maxProblems = 10_000
)

var tooManyDocuments = fmt.Sprintf("more than %d documents", maxDocuments)

// measure is bounded.Measure with the error of a chunk.
func measure(root *yamlv3.Node) (nodes int, err *syntaxError) {
	nodes, over := bounded.Measure(root)
	return nodes, tooMuch(over)
}

func tooMuch(err *bounded.DocumentError) *syntaxError {
	if err == nil {
		return nil
	}
	return &syntaxError{err.Line, err.Message, err.Hint}
}

// countValues counts the values in a decoded document, up to a few more than limit.
func countValues(v any, limit int) (n int) {
	n = 1
	switch v := v.(type) {
	case map[string]any:
		for _, in := range v {
			if n += countValues(in, limit-n); n > limit {
				break
			}
		}
	case []any:
		for _, in := range v {
			if n += countValues(in, limit-n); n > limit {
				break
			}
		}
	}
	return n
}
