package manifest

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
)

const (
	// maxExpanded bounds what the aliases of a document stand for, in bytes: as
	// much as a file may have without any.
	maxExpanded = maxSource
	// nodeSize is what a node counts beside its text.
	nodeSize = 16
	// maxDepth bounds the nesting of a document, aliases replaced. No
	// Kubernetes object comes near.
	maxDepth = 1000
	// maxDocuments bounds the documents of a source, and the objects of all sources,
	// items of lists included: small ones take a thousand times their text in memory.
	maxDocuments = 10_000
	// maxNodes bounds the nodes of a source, which may be a list of pods, and maxValues
	// the values of one object in it.
	maxNodes, maxValues = 1_000_000, 100_000
	// maxProblems is how many problems are found before no more is read.
	maxProblems = 10_000
)

var (
	tooManyDocuments = fmt.Sprintf("more than %d documents", maxDocuments)
	tooManyValues    = fmt.Sprintf("more than %d values", maxNodes)
)

// CheckExpansion returns an error for a YAML document that would be too large or too
// deep with its aliases replaced, and for one that is no YAML.
func CheckExpansion(document []byte) error {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(document, &root); err != nil {
		return err
	}
	if _, err := checkExpansion(&root); err != nil {
		return fmt.Errorf("line %d: %w", err.line, err)
	}
	return nil
}

// checkExpansion refuses a document that would be too large or too deep with
// its aliases replaced: a few of them can stand for terabytes. The error has the
// line of the alias. nodes are those of the document.
func checkExpansion(root *yamlv3.Node) (nodes int, err *syntaxError) {
	e := &expansion{measured: map[*yamlv3.Node]extent{}}
	_, err = e.measure(root, 0)
	return e.nodes, err
}

// extent is how large a node is with its aliases replaced.
type extent struct {
	// bytes counts everything, added only what aliases stand for.
	bytes, added int
	// depth is that of what is in the node: 0 for a scalar.
	depth int
}

// expansion measures each node once, however often it is an alias's.
type expansion struct {
	measured map[*yamlv3.Node]extent
	nodes    int
}

func (e *expansion) measure(n *yamlv3.Node, above int) (extent, *syntaxError) {
	if n.Kind == yamlv3.AliasNode {
		// Of a value that contains itself nothing is measured yet: it is
		// refused by the parser.
		of := e.measured[n.Alias]
		if above+of.depth > maxDepth {
			return extent{}, tooDeep(n)
		}
		of.added = of.bytes
		return of, nil
	}
	if above > maxDepth {
		return extent{}, tooDeep(n)
	}
	if e.nodes++; e.nodes > maxNodes {
		return extent{}, &syntaxError{n.Line, tooManyValues, ""}
	}
	all := extent{bytes: nodeSize + len(n.Value)}
	for _, child := range n.Content {
		in, err := e.measure(child, above+1)
		if err != nil {
			return extent{}, err
		}
		all.bytes, all.added = all.bytes+in.bytes, all.added+in.added
		all.depth = max(all.depth, in.depth+1)
		if all.added > maxExpanded {
			return extent{}, &syntaxError{child.Line, fmt.Sprintf("the aliases of the document stand for more than %d MiB", maxExpanded>>20), "write it without anchors and aliases"}
		}
	}
	if n.Anchor != "" {
		e.measured[n] = all
	}
	return all, nil
}

func tooDeep(n *yamlv3.Node) *syntaxError {
	return &syntaxError{n.Line, fmt.Sprintf("nested more than %d levels deep", maxDepth), ""}
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
