package secret

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Masker replaces what may be secret, and counts it: known values, and what looks like a secret or
// has the name of one. It is not safe for concurrent use.
type Masker struct {
	values *Mask
	// counts are by rule, total is of all placeholders.
	counts map[string]int
	total  int
}

// NewMasker returns a Masker for secret values and for everything that looks like one. What
// open contains, such as names of pods, is not masked as a value.
func NewMasker(values [][]byte, open func() []byte) *Masker {
	return &Masker{values: (*Mask)(nil).With(values, open), counts: map[string]int{}}
}

// Text returns a text without secrets.
func (m *Masker) Text(text string) string {
	if len(text) < minForm {
		return text
	}
	masked := m.values.Text(text)
	for _, r := range rules {
		var n int
		masked, n = r.mask(masked)
		m.counts[r.what] += n
	}
	m.total += strings.Count(masked, Placeholder)
	return masked
}

// Masked returns what was masked, by rule, also the rules that masked nothing. What the texts
// had masked already are values.
func (m *Masker) Masked() []Masked {
	found := []Masked{{valuesRule, m.total}}
	for _, r := range rules {
		found = append(found, Masked{r.what, m.counts[r.what]})
		found[0].Count -= m.counts[r.what]
	}
	found[0].Count = max(0, found[0].Count)
	return found
}

// Total returns how many texts were masked.
func (m *Masker) Total() int { return m.total }

// Tree returns a copy of a JSON value, as encoding/json reads it, without secrets. Beside what Text
// finds that is the value of each field with the name of a secret, of each variable that a runtime
// has set, since any may come from a Secret, the same in command lines, which are expanded with
// them, and the data of Secrets.
func (m *Masker) Tree(tree any) any {
	t := treeMasker{Masker: m}
	if values := runtimeValues(Environment(tree), func(string) bool { return true }); len(values) > 0 {
		t.arguments = (*Mask)(nil).With(values, nil)
	}
	return t.mask("", tree)
}

type treeMasker struct {
	*Masker
	// arguments masks the values of all variables.
	arguments *Mask
}

// hide returns the placeholder for a secret, and counts it.
func (t treeMasker) hide(value any) any {
	switch value := value.(type) {
	case string:
		if value == "" || openValue().MatchString("="+value[:min(len(value), maxKey)]) {
			return value
		}
		t.total++
		return Placeholder
	case []any:
		return each(value, t.hide)
	case map[string]any:
		hidden := make(map[string]any, len(value))
		for key, v := range value {
			hidden[key] = t.hide(v)
		}
		return hidden
	}
	return value
}

func each(list []any, f func(any) any) []any {
	mapped := make([]any, len(list))
	for i, value := range list {
		mapped[i] = f(value)
	}
	return mapped
}

func (t treeMasker) mask(key string, tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		return t.object(tree)
	case []any:
		switch strings.ToLower(key) {
		case "env", "envs":
			return each(tree, t.variable)
		}
		isCommand := slices.Contains([]string{"args", "command", "cmd"}, strings.ToLower(key))
		masked := make([]any, len(tree))
		var program *command
		last := ""
		for i, v := range tree {
			text, isText := v.(string)
			if !isText {
				masked[i] = t.mask(key, v)
				continue
			}
			safe := t.argument(program, last, text)
			if isCommand {
				safe = t.arguments.Text(safe)
			}
			if c := commandOf(text); c != nil {
				program = c
			}
			masked[i], last = safe, text
		}
		return masked
	case string:
		return t.Text(tree)
	}
	return tree
}

// argument masks a text of a list, which may be a command line: last is the text before it,
// program one of those before it, which need not be the first: env, sudo, timeout 10 curl.
func (t treeMasker) argument(program *command, last, text string) string {
	if strings.HasPrefix(last, "-") && !strings.HasPrefix(text, "-") && !strings.Contains(last, "=") && isSecretKey(last) {
		return t.hide(text).(string)
	}
	if program != nil {
		if n := program.password(last, text); n >= 0 {
			return text[:n] + t.hide(text[n:]).(string)
		}
	}
	return t.Text(text)
}

func (t treeMasker) object(tree map[string]any) any {
	name, isNamed := tree["name"].(string)
	if !isNamed {
		name, _ = tree["key"].(string)
	}
	kind, _ := tree["kind"].(string)
	masked := make(map[string]any, len(tree))
	for key, value := range tree {
		_, isText := value.(string)
		_, isList := value.([]any)
		safe := t.values.Text(key)
		switch {
		case isManifest(key) && isText:
			masked[safe] = Placeholder
		case key == "value" && isText && isSecretKey(name),
			(isText || isList) && isSecretKey(key),
			kind == "Secret" && (key == "data" || key == "stringData"),
			strings.EqualFold(key, "headers"):
			masked[safe] = t.hide(value)
		default:
			masked[safe] = t.mask(key, value)
		}
	}
	return masked
}

// variable masks an environment variable: one of a runtime always, unless everybody knows it, one
// of a manifest by its name.
func (t treeMasker) variable(v any) any {
	hidden, ofRuntime := hideVariable(v, func(name string) bool { return !openVariable().MatchString(name) }, nil)
	if !ofRuntime {
		hidden, _ = hideVariable(v, isSecretVariable, nil)
	}
	return t.mask("", hidden)
}

// Environment returns the environment variables in a tree, in the forms of runtimes and manifests.
func Environment(tree any) (variables []any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, v := range tree {
			if list, _ := v.([]any); strings.EqualFold(key, "env") || strings.EqualFold(key, "envs") {
				variables = append(variables, list...)
			} else {
				variables = append(variables, Environment(v)...)
			}
		}
	case []any:
		for _, v := range tree {
			variables = append(variables, Environment(v)...)
		}
	}
	return variables
}

// runtimeValues returns the values of the variables that a runtime has set and that hold secrets, but
// those that everybody knows.
func runtimeValues(variables []any, secret Names) (values [][]byte) {
	for _, variable := range variables {
		var found [][]byte
		if _, ofRuntime := hideVariable(variable, func(name string) bool { return !openVariable().MatchString(name) && secret(name) }, &found); ofRuntime {
			values = append(values, found...)
		}
	}
	return values
}

// FromSecrets returns the values that a runtime has of the variables that a container's spec takes from
// Secrets.
func FromSecrets(variables []any, c *v1.Container) [][]byte {
	return runtimeValues(variables, NamesOf(c))
}

// Known returns the secret values in an answer of a runtime or a manifest: those of variables with
// the name of one, and the headers for registries.
func Known(tree any) [][]byte {
	_, values := AnswerAndValues(tree, isSecretVariable)
	return append(values, headers(tree)...)
}

// headers returns the values of the headers for registries in containerd's configuration.
func headers(tree any) (values [][]byte) {
	switch tree := tree.(type) {
	case map[string]any:
		registry, _ := tree["registry"].(map[string]any)
		all, _ := registry["headers"].(map[string]any)
		for _, list := range all {
			texts, _ := list.([]any)
			for _, text := range texts {
				if text, ok := text.(string); ok {
					values = append(values, []byte(text))
				}
			}
		}
		for _, inner := range tree {
			values = append(values, headers(inner)...)
		}
	case []any:
		for _, inner := range tree {
			values = append(values, headers(inner)...)
		}
	}
	return values
}
