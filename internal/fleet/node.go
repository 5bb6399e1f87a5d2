package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
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
