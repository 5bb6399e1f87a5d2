package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	yamlv3 "go.yaml.in/yaml/v3"
)

// unmarshal reads one JSON value. Numbers stay json.Numbers, in one form for
// each value, so that 1, 1.0 and 1e0 are the same document.
func unmarshal(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return oneForm(v), nil
}

// marshal returns canonical JSON: sorted keys, no spaces, no needless escapes. UIDs are
// computed from it, so it must not change.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("manifest: a decoded value does not encode: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func oneForm(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			v[key] = oneForm(v[key])
		}
	case []any:
		for i := range v {
			v[i] = oneForm(v[i])
		}
	case json.Number:
		if _, err := strconv.ParseInt(v.String(), 10, 64); err == nil && v != "-0" {
			return v
		}
		if _, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return v
		}
		f, err := v.Float64()
		if err != nil {
			return v // beyond a float64: it stays as it was written
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return v
}

// parseJSON reads JSON values, one after another.
func (c chunk) parseJSON() ([]document, error) {
	dec := json.NewDecoder(bytes.NewReader(c.text))
	dec.UseNumber()
	nodes := &jsonNodes{text: c.text, dec: json.NewDecoder(bytes.NewReader(c.text)), line: c.above + 1}
	nodes.dec.UseNumber()
	var docs []document
	for {
		if len(docs) == maxDocuments {
			return docs, &syntaxError{nodes.line - c.above, tooManyDocuments, ""}
		}
		// The value first: it bounds the nesting that the nodes then follow.
		var value any
		if err := dec.Decode(&value); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return docs, c.jsonSyntax(err, dec.InputOffset())
		}
		root, err := nodes.next()
		if err != nil {
			return docs, c.jsonSyntax(err, dec.InputOffset())
		}
		count, expands := measure(root)
		if expands != nil {
			expands.line -= c.above // the nodes count from the beginning of the file
			return docs, expands
		}
		if value = oneForm(value); value != nil {
			docs = append(docs, document{value: value, root: root, nodes: count})
		}
	}
}

func (c chunk) jsonSyntax(err error, offset int64) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		offset = int64(len(bytes.TrimRight(c.text, " \r\n\t")))
	}
	offset = min(offset, int64(len(c.text)))
	return &syntaxError{1 + bytes.Count(c.text[:offset], []byte("\n")), "json: " + err.Error(), ""}
}

// jsonNodes makes YAML nodes with lines from JSON, whose strings may hold
// escapes that YAML does not know.
type jsonNodes struct {
	text []byte
	dec  *json.Decoder
	// line is the line of offset, both as far as the decoder has read.
	line   int
	offset int64
}

func (j *jsonNodes) next() (*yamlv3.Node, error) {
	token, err := j.dec.Token()
	if err != nil {
		return nil, err
	}
	end := j.dec.InputOffset()
	j.line += bytes.Count(j.text[j.offset:end], []byte("\n"))
	j.offset = end
	node := &yamlv3.Node{Kind: yamlv3.ScalarNode, Style: yamlv3.DoubleQuotedStyle, Line: j.line}
	switch token := token.(type) {
	case json.Delim:
		node.Kind = yamlv3.MappingNode
		if token == '[' {
			node.Kind = yamlv3.SequenceNode
		}
		for j.dec.More() {
			child, err := j.next()
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := j.dec.Token()
		return node, err
	case string:
		node.Value = token
	case nil:
		node.Value, node.Style = "null", 0
	default:
		node.Value, node.Style = fmt.Sprint(token), 0
	}
	return node, nil
}
