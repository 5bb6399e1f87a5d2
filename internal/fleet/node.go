package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// nodeKey is the field of a merged item that names its node.
const nodeKey = "node"

// WithNode returns a JSON object with the field "node" before its own; any other value
// becomes {"node": …, "value": …}. A field of the object that a reader could take for the
// node is left out: a node does not speak for another one.
func WithNode(node string, value json.RawMessage) (json.RawMessage, error) {
	if !json.Valid(value) {
		return nil, errors.New("not JSON")
	}
	name, err := json.Marshal(node)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(`{"` + nodeKey + `":`)
	b.Write(name)
	dec := json.NewDecoder(bytes.NewReader(value))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		b.WriteString(`,"value":`)
		b.Write(value)
		b.WriteByte('}')
		return b.Bytes(), err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var field json.RawMessage
		if err := dec.Decode(&field); err != nil {
			return nil, err
		}
		text, ok := key.(string)
		if !ok || strings.EqualFold(text, nodeKey) { // encoding/json does not distinguish case
			continue
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		b.WriteByte(',')
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(field)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MaxItems bounds the items of one node: a few bytes of JSON are an item.
const MaxItems = 10000

// ErrTooMany: an answer has more items than MaxItems.
var ErrTooMany = fmt.Errorf("more than %d items", MaxItems)

// Values returns the JSON values of an answer: the items of arrays, and other values, each
// one, as of a command that prints an object per line.
func Values(answer []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for dec := json.NewDecoder(bytes.NewReader(answer)); ; {
		var value jsonValues
		switch err := dec.Decode(&value); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		if all = append(all, value...); len(all) > MaxItems {
			return nil, ErrTooMany
		}
	}
}

// jsonValues are the items of an array, or one other value.
type jsonValues []json.RawMessage

// UnmarshalJSON reads no more items than there may be.
func (v *jsonValues) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("[")) {
		*v = jsonValues{slices.Clone(text)}
		return nil
	}
	items, err := Items[json.RawMessage](text, MaxItems)
	*v = items
	return err
}

// Items reads a JSON array of at most limit items; more are ErrTooMany.
func Items[T any](array []byte, limit int) ([]T, error) {
	dec := json.NewDecoder(bytes.NewReader(array))
	if first, err := dec.Token(); err != nil || first != json.Delim('[') {
		return nil, errors.Join(err, errors.New("not an array"))
	}
	var items []T
	for dec.More() {
		if len(items) == limit {
			return nil, ErrTooMany
		}
		var item T
		if err := dec.Decode(&item); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// Inspector is a pod that runs commands on its node.
type Inspector struct {
	Name, Node string
	// Ready: its container runs and the pod is not terminating.
	Ready   bool
	Created time.Time
}

// Target is a node and the pod on it that runs the command.
type Target struct {
	Node, Pod string
	// Failure is why there is no such pod; nil if there is one.
	Failure *Failure
}

// Targets returns a target for each of the nodes, sorted by name. Of several pods on a
// node, as during an update of the DaemonSet, the newest that is ready is used.
func Targets(nodes []string, pods []Inspector) []Target {
	byNode := map[string]Inspector{}
	for _, p := range pods {
		if known, ok := byNode[p.Node]; !ok || preferred(p, known) {
			byNode[p.Node] = p
		}
	}
	names := slices.Clone(nodes)
	slices.Sort(names)
	names = slices.Compact(names)
	targets := make([]Target, len(names))
	for i, name := range names {
		targets[i] = target(name, byNode)
	}
	return targets
}

func target(node string, byNode map[string]Inspector) Target {
	p, ok := byNode[node]
	switch {
	case !ok:
		return Target{Node: node, Failure: &Failure{Reason: NoInspector, Message: "no inspector pod on this node, or no such node"}}
	case !p.Ready:
		return Target{Node: node, Pod: p.Name, Failure: &Failure{Reason: NotReady, Message: fmt.Sprintf("pod %s is not ready", p.Name)}}
	}
	return Target{Node: node, Pod: p.Name}
}

// preferred reports whether a is a better choice than b.
func preferred(a, b Inspector) bool {
	if a.Ready != b.Ready {
		return a.Ready
	}
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name)) > 0
}

// Prefix returns text with "NODE: " before each line, and a line end after the last one.
func Prefix(node, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(node + ": " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
