package bounded

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func count(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, in := range v {
			n += count(in)
		}
	case []any:
		for _, in := range v {
			n += count(in)
		}
	}
	return n
}

var documents = []string{
	`1`, `"a,[{\"\\"`, `[]`, `{ }`, `[1, 2]`, `{"a": {}, "b,": [{}, [ ], "]"]}`, `{"a":[[],{}],"b":{"c":null}}`,
}

func FuzzNoFewerValuesAreCountedThanDecoded(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		// Of two equal keys only one is decoded.
		if n := count(v); CheckJSON([]byte(text), n-1) == nil {
			t.Errorf("%q has %d values", text, n)
		}
	})
}

func TestTheReaderFailsAtOneValueTooMany(t *testing.T) {
	for _, text := range documents {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		n := count(v)
		if err := json.NewDecoder(JSON(iotest.OneByteReader(strings.NewReader(text)), n)).Decode(&v); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := io.Copy(io.Discard, JSON(strings.NewReader(text), n-1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
