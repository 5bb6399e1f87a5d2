package manifest

import (
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// positions finds the lines of the values of one document. The nodes are not changed;
// the index is filled on demand.
type positions struct {
	root  *yamlv3.Node
	index map[*yamlv3.Node]map[string]entry
	// dropped are the indexes, ascending, of items of lists that the value lacks.
	dropped map[*yamlv3.Node][]int
}

// entry is one key of a mapping with its value.
type entry struct{ key, value *yamlv3.Node }

func newPositions(root *yamlv3.Node) *positions {
	return &positions{root: root, index: map[*yamlv3.Node]map[string]entry{}, dropped: map[*yamlv3.Node][]int{}}
}

// below returns the positions of values below another root in the same file.
func (p *positions) below(root *yamlv3.Node) *positions {
	return &positions{root: root, index: p.index, dropped: p.dropped}
}

// dropItem notes that the value lacks an item of the list that was written at a path.
func (p *positions) dropItem(list path, i int) {
	node := p.find(list).value
	if node == nil {
		return
	}
	node = deref(node)
	if at, found := slices.BinarySearch(p.dropped[node], i); !found {
		p.dropped[node] = slices.Insert(p.dropped[node], at, i)
	}
}

// written returns the index with which an item of a list was written.
func (p *positions) written(list *yamlv3.Node, i int) int {
	for _, gone := range p.dropped[list] {
		if gone <= i {
			i++
		}
	}
	return i
}

// place is what find found.
type place struct {
	line int
	// value is the node of the value, nil where the value is missing and
	// line is that of its closest ancestor.
	value *yamlv3.Node
}

// asWritten returns the path of a field with the indexes with which it was written.
func (p *positions) asWritten(field string) string {
	if len(p.dropped) == 0 {
		return field
	}
	at := parsePath(field)
	written := slices.Clone(at)
	for i, s := range at {
		if s.kind != stepIndex {
			continue
		}
		if list := p.find(at[:i]).value; list != nil {
			written[i].index = p.written(deref(list), s.index)
		}
	}
	return written.String()
}

// find looks a path up. The line of a field is that of its key; that of an
// item the line on which the item begins.
func (p *positions) find(at path) place {
	if p == nil || p.root == nil {
		return place{}
	}
	here := place{line: p.root.Line, value: p.root}
	for _, s := range at {
		node := deref(here.value)
		switch {
		case node.Kind == yamlv3.SequenceNode && s.kind == stepIndex && p.written(node, s.index) < len(node.Content):
			item := node.Content[p.written(node, s.index)]
			here = place{line: item.Line, value: item}
		case node.Kind == yamlv3.MappingNode && p.entries(node)[s.name].key != nil:
			e := p.entries(node)[s.name]
			here = place{line: e.key.Line, value: e.value}
		default:
			return place{line: here.line}
		}
	}
	return here
}

func deref(n *yamlv3.Node) *yamlv3.Node {
	for n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	return n
}

// entries returns a mapping's content by the key that the values have it under.
// As in the reader of the values (yaml v2), what comes later wins, also a
// merge over a key before it.
func (p *positions) entries(n *yamlv3.Node) map[string]entry {
	if found, ok := p.index[n]; ok {
		return found
	}
	all := make(map[string]entry, len(n.Content)/2)
	p.index[n] = all
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			p.merge(all, value)
		} else {
			all[keyOf(key)] = entry{key, value}
		}
	}
	return all
}

// merge adds the entries of a merged mapping, or of a list of mappings: the first one
// wins.
func (p *positions) merge(into map[string]entry, from *yamlv3.Node) {
	switch from = deref(from); from.Kind {
	case yamlv3.MappingNode:
		maps.Copy(into, p.entries(from))
	case yamlv3.SequenceNode:
		for _, v := range slices.Backward(from.Content) {
			if item := deref(v); item.Kind == yamlv3.MappingNode {
				p.merge(into, item)
			}
		}
	}
}

func isMerge(key *yamlv3.Node) bool {
	return key.Kind == yamlv3.ScalarNode && key.Value == "<<" && (isPlain(key) || strings.HasSuffix(key.Tag, "merge"))
}

// isPlain reports whether a scalar was written without quotes or a tag, so that
// its text decides its type.
func isPlain(n *yamlv3.Node) bool {
	return n.Kind == yamlv3.ScalarNode && n.Style&^yamlv3.FlowStyle == 0
}

// shift moves nodes down by the lines that were cut off above their text.
func shift(n *yamlv3.Node, lines int) {
	n.Line += lines
	for _, c := range n.Content {
		shift(c, lines)
	}
}
