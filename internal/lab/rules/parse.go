package rules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"

	"github.com/podctl/podctl/internal/sys/bounded"
)

// Limits of what a rule may ask for.
const (
	MaxFile    = 1 << 20 // bytes of a file
	maxRules   = 1000
	maxText    = 64 << 10 // bytes of a rule
	maxEntries = 100_000
	maxRepeat  = 1000
)

// keys has a setter for each key of a rule.
var keys = map[string]func(r *Rule, value string) error{
	"method":      func(r *Rule, v string) error { return pattern(&r.Method, v) },
	"pod":         func(r *Rule, v string) error { return pattern(&r.Pod, v) },
	"container":   func(r *Rule, v string) error { return pattern(&r.Container, v) },
	"nth":         nth,
	"probability": probability,
	"seed":        func(r *Rule, v string) (err error) { r.Seed, err = strconv.ParseUint(v, 10, 64); return err },
	"where":       func(r *Rule, v string) error { return assignment(&r.Where, v) },
	"error":       func(r *Rule, v string) error { return code(&r.Error, v) },
	"message":     func(r *Rule, v string) error { r.Message = v; return nil },
	"delay":       func(r *Rule, v string) error { return duration(&r.Delay, v) },
	"hang":        func(r *Rule, v string) error { return flag(&r.Hang, v) },
	"lost":        func(r *Rule, v string) error { return code(&r.Lost, v) },
	"repeat":      func(r *Rule, v string) error { return number(&r.Repeat, v, maxRepeat) },
	"set":         func(r *Rule, v string) error { return assignment(&r.Set, v) },
	"unset":       func(r *Rule, v string) error { r.Unset = append(r.Unset, v); return nil },
	"omit":        func(r *Rule, v string) error { return flag(&r.Omit, v) },
	"copies":      func(r *Rule, v string) error { return number(&r.Copies, v, maxRepeat) },
	"fill":        func(r *Rule, v string) error { return number(&r.Fill, v, maxEntries) },
	"stale":       func(r *Rule, v string) error { return duration(&r.Stale, v) },
	"drop":        func(r *Rule, v string) error { return flag(&r.Drop, v) },
	"end":         func(r *Rule, v string) error { return flag(&r.End, v) },
	"after":       func(r *Rule, v string) error { return number(&r.After, v, 1<<30) },
	"close":       func(r *Rule, v string) error { return flag(&r.Close, v) },
}

// Keys returns the keys of a rule, sorted.
func Keys() []string {
	var all []string
	for k := range keys {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// Parse reads a rule of one line: KEY=VALUE words, whose values may be in double quotes, in
// which \" is a quote and \\ a backslash. A word without = is true.
func Parse(source, text string) (Rule, error) {
	r := Rule{Source: source}
	words, err := split(text)
	if err != nil {
		return r, fmt.Errorf("%s: %w", source, err)
	}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			value = "true"
		}
		if err := r.setKey(key, value); err != nil {
			return r, fmt.Errorf("%s: %w", source, err)
		}
	}
	if err := r.check(); err != nil {
		return r, fmt.Errorf("%s: %w", source, err)
	}
	return r, nil
}

// split cuts a line into words.
func split(text string) (words []string, err error) {
	var word strings.Builder
	quoted, some, escaped := false, false, false
	for i, c := range text {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case quoted && c == '\\' && strings.ContainsAny(text[i+1:min(i+2, len(text))], `"\`):
			escaped = true
		case c == '"':
			quoted, some = !quoted, true
		case c == ' ' && !quoted:
			if some {
				words = append(words, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(c)
			some = true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if some {
		words = append(words, word.String())
	}
	return words, nil
}

// ParseFile reads the rules of a YAML file: a list of rules with the same keys; those that
// may repeat have a list. Errors name the file and the line.
func ParseFile(name string, data []byte) ([]Rule, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", name, MaxFile)
	}
	if err := bounded.CheckDensity(data); err != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, err.Line, err.Message)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode || len(list.Content) > maxRules {
		return nil, fmt.Errorf("%s:%d: want a list of rules, of %d at most", name, list.Line, maxRules)
	}
	var all []Rule
	for _, node := range list.Content {
		r := Rule{Source: fmt.Sprintf("%s:%d", path.Base(name), node.Line)}
		if node.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s:%d: want a rule: KEY: VALUE", name, node.Line)
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			values := []*yaml.Node{value}
			if value.Kind == yaml.SequenceNode {
				values = value.Content
			}
			for _, v := range values {
				if v.Kind != yaml.ScalarNode {
					return nil, fmt.Errorf("%s:%d: %s: want a value", name, v.Line, key.Value)
				}
				if err := r.setKey(key.Value, v.Value); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", name, v.Line, err)
				}
			}
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, node.Line, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func (r *Rule) setKey(key, value string) error {
	set, ok := keys[key]
	if !ok {
		if len(kindsOf(key)) > 0 {
			return fmt.Errorf("a rule has no key %q: did you mean method=%[1]s", key)
		}
		return fmt.Errorf("a rule has no key %q: want one of %s", key, strings.Join(Keys(), ", "))
	}
	if err := set(r, value); err != nil {
		return fmt.Errorf("%s=%s: %w", key, value, err)
	}
	r.Text = strings.TrimPrefix(r.Text+" "+word(key, value), " ")
	return nil
}

// word returns what Parse reads as a key and its value.
func word(key, value string) string {
	switch {
	case value == "true":
		return key
	case strings.ContainsAny(value, ` "`):
		return key + `="` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(value) + `"`
	}
	return key + "=" + value
}

// check returns an error for a rule that has no method, or that does nothing or not all that
// it says.
func (r *Rule) check() error {
	switch {
	case len(r.Text) > maxText:
		return fmt.Errorf("the rule is longer than %d bytes", maxText)
	case r.Method == "":
		return errors.New("method is missing: a CRI method, or a pattern")
	case r.Error == 0 && r.Lost == 0 && r.Stale == 0 && r.Repeat == 0 && r.Delay == 0 && !r.Hang && !r.End && !r.Close && !r.Drop && !r.changesAnswer():
		return errors.New("the rule does nothing: give it error, delay, hang, lost, repeat, set, unset, omit, copies, fill, stale, drop, end or close")
	case r.After > 0 && !r.endsCall():
		return errors.New("after is when a stream has an error, hangs, ends or is closed: give the rule error, hang, end or close")
	case r.endsCall() && r.Lost == codes.OK && (r.changesAnswer() || r.Stale > 0 || r.Repeat > 0 || r.Drop), r.Lost != codes.OK && r.changesAnswer():
		return errors.New("error, hang, lost, end and close leave no answer: repeat, set, unset, omit, copies, fill, stale and drop are for another rule")
	case len(r.Where) > 0 && !r.changesAnswer():
		return errors.New("where is of an answer that is changed: give the rule set, unset, omit, copies or fill")
	}
	return r.checkMethod()
}
