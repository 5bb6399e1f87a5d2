package bounded

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
)

const (
	// maxExpanded bounds what the aliases of a document stand for, in bytes: as
	// much as a manifest may have without any.
	maxExpanded = 10 << 20
	// nodeSize is what a node counts beside its text.
	nodeSize = 16
	// maxDepth bounds the nesting of a document, aliases replaced. No
	// Kubernetes object comes near.
	maxDepth = 1000
	// MaxNodes bounds the nodes of a document.
	MaxNodes = 1_000_000
)

// DocumentError is why a document is refused.
type DocumentError struct {
	// Line is that of the node which is too much.
	Line          int
	Message, Hint string
}

func (e *DocumentError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// CheckYAML returns an error for a YAML document that has too many values, or would be
// too large or too deep with its aliases replaced, and for one that is no YAML.
func CheckYAML(document []byte) error {
	if err := CheckDensity(document); err != nil {
		return err
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(document, &root); err != nil {
		return err
	}
	if _, err := Measure(&root); err != nil {
		return err
	}
	return nil
}

// Measure refuses a document that would be too large or too deep with its
// aliases replaced: a few of them can stand for terabytes. The error has the line
// of the alias. nodes are those of the document.
func Measure(root *yamlv3.Node) (nodes int, err *DocumentError) {
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

func (e *expansion) measure(n *yamlv3.Node, above int) (extent, *DocumentError) {
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
	if e.nodes++; e.nodes > MaxNodes {
		return extent{}, TooMany(n.Line)
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
			return extent{}, &DocumentError{child.Line, fmt.Sprintf("the aliases of the document stand for more than %d MiB", maxExpanded>>20), "write it without anchors and aliases"}
		}
	}
	if n.Anchor != "" {
		e.measured[n] = all
	}
	return all, nil
}

func tooDeep(n *yamlv3.Node) *DocumentError {
	return &DocumentError{n.Line, fmt.Sprintf("nested more than %d levels deep", maxDepth), ""}
}

// TooMany is the error of a document with more than MaxNodes nodes.
func TooMany(line int) *DocumentError {
	return &DocumentError{line, fmt.Sprintf("more than %d values", MaxNodes), ""}
}
