package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// YAML 1.1, which every Kubernetes program reads, gives meanings to plain
// words that surprise: n, y, on and off are booleans, 0777 is 511, 1_000 is a
// number. This file finds them and says what to write instead.

var (
	plainWord = lazyregexp.New(`^([A-Za-z_][A-Za-z0-9_./-]*|[1-9][0-9]{0,17})$`) // is what it looks like, if not among words
	words11   = strings.Fields("y Y yes Yes YES on On ON n N no No NO off Off OFF")
	words     = append(strings.Fields("true True TRUE false False FALSE null Null NULL"), words11...)
	octal     = lazyregexp.New(`^[-+]?0[0-7]+$`)
)

// keyOf returns the key that the values have this key's entry under.
func keyOf(n *yamlv3.Node) string {
	n = deref(n)
	if n.Kind != yamlv3.ScalarNode || !isPlain(n) || (plainWord().MatchString(n.Value) && !slices.Contains(words, n.Value)) {
		return n.Value
	}
	data, err := yaml.YAMLToJSON([]byte(n.Value + ": 0"))
	if err != nil {
		return n.Value
	}
	var m map[string]int
	if json.Unmarshal(data, &m) != nil || len(m) != 1 {
		return n.Value
	}
	for key := range m {
		return key
	}
	return n.Value
}

// notText explains why a value is not the string that it was meant to be.
// The node is nil where only the value is known.
func notText(v any, n *yamlv3.Node) (message, hint string) {
	if n != nil {
		n = deref(n)
	}
	if n == nil || !isPlain(n) {
		return "expected a string, got " + describe(v), ""
	}
	hint = fmt.Sprintf("write %q", n.Value)
	switch {
	case slices.Contains(words11, n.Value):
		return fmt.Sprintf("`%s` is the boolean %v in YAML 1.1", n.Value, v), hint
	case fmt.Sprint(v) == n.Value:
		return fmt.Sprintf("expected a string, but `%s` is %s", n.Value, describe(v)), hint
	}
	return fmt.Sprintf("expected a string, but `%s` is %s %v in YAML 1.1", n.Value, strings.Replace(describe(v), "a ", "the ", 1), v), hint
}

// octalInteger explains an integer that was written with a leading zero.
func octalInteger(v json.Number, n *yamlv3.Node) (message, hint string, surprise bool) {
	if n == nil {
		return "", "", false
	}
	n = deref(n)
	if !isPlain(n) || !octal().MatchString(n.Value) || v.String() == n.Value {
		return "", "", false
	}
	return fmt.Sprintf("`%s` is octal in YAML 1.1: %s", n.Value, v),
		fmt.Sprintf("write %s, or %s if that was meant", v, strings.TrimLeft(n.Value, "+-0")), true
}

// describe names the type of a value as YAML people do.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		if _, err := strconv.ParseFloat(v, 64); err == nil {
			return "a string in quotes"
		}
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "a mapping"
	}
	return fmt.Sprintf("%T", v)
}

// scanKeys reports what the values of a mapping cannot show any more: keys
// that stand twice in it, and keys that are not what they look like.
func scanKeys(n *yamlv3.Node, duplicate func(name string, line, first int), surprise func(name, written string, line int)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if isMerge(key) {
			continue
		}
		name := keyOf(key)
		if line, twice := first[name]; twice {
			duplicate(name, key.Line, line)
			continue
		}
		first[name] = key.Line
		if written := deref(key).Value; name != written {
			surprise(name, written, key.Line)
		}
	}
}

// keyThatIsNoScalar returns a key that is a list or a mapping, which no Kubernetes
// object has; nil if there is none.
func keyThatIsNoScalar(n *yamlv3.Node) *yamlv3.Node {
	for i, c := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 && deref(c).Kind != yamlv3.ScalarNode {
			return c
		}
		if found := keyThatIsNoScalar(c); found != nil {
			return found
		}
	}
	return nil
}
