package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// Values are the JSON values of an answer: the items of arrays, and other values, each
// one, as of a command that prints an object per line.
func Values(answer []byte) ([]json.RawMessage, error) {
	var all []json.RawMessage
	for dec := json.NewDecoder(bytes.NewReader(answer)); ; {
		var value json.RawMessage
		if err := dec.Decode(&value); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		var items []json.RawMessage
		if bytes.HasPrefix(value, []byte("[")) && json.Unmarshal(value, &items) == nil {
			all = append(all, items...)
			continue
		}
		all = append(all, value)
	}
}
