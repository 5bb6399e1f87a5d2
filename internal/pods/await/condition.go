package await

import (
	"bytes"
	"strconv"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/podctl/podctl/internal/sys/hint"
)

// Kind is the kind of a condition.
type Kind uint8

const (
	// PodCondition: a condition of the pod's status has a value.
	PodCondition Kind = iota
	// Deleted: the runtime holds nothing of the pod.
	Deleted
	// Exited: a container has exited.
	Exited
	// Path: a JSONPath into the pod, as podctl pods -o json prints it, has a value.
	Path
)

func (k Kind) String() string {
	return [...]string{PodCondition: "condition", Deleted: "delete", Exited: "exit", Path: "jsonpath"}[k]
}

// Condition is what is waited for.
type Condition struct {
	Kind Kind
	// Name is that of a PodCondition. Value is what it, or a Path, must be; ""
	// for a Path that must have any value.
	Name, Value string
	// Code is the exit code that an Exited container must have; nil is any.
	Code *int32

	text string
	path *jsonpath.JSONPath
}

// Forms are the conditions as a user writes them.
const Forms = "condition=Ready, delete, exit, exit=CODE, jsonpath={PATH} or jsonpath={PATH}=VALUE"

// syntaxError returns the error for a text that is none of the forms.
func syntaxError(format string, args ...any) error {
	return hint.Errorf("one of: "+Forms, format, args...)
}

// Parse reads a condition as a user writes it.
func Parse(text string) (Condition, error) {
	kind, value, given := strings.Cut(text, "=")
	c := Condition{text: text}
	switch {
	case kind == "delete" && !given:
		c.Kind = Deleted
		return c, nil
	case kind == "exit":
		c.Kind = Exited
		if given {
			code, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return c, syntaxError("%q: the exit code is not a number", text)
			}
			c.Code = new(int32(code))
		}
		return c, nil
	case kind == "condition" && value != "":
		c.Name, c.Value, given = strings.Cut(value, "=")
		if !given {
			c.Value = "True"
		}
		return c, nil
	case kind == "jsonpath" && value != "":
		return c.withPath(value)
	}
	return c, syntaxError("%q is not a condition", text)
}

// withPath reads {PATH}, {PATH}=VALUE or the same without braces.
func (c Condition) withPath(text string) (Condition, error) {
	c.Kind = Path
	path, value, given := strings.Cut(text, "=")
	if end := strings.LastIndex(text, "}"); strings.HasPrefix(text, "{") && end > 0 {
		path = text[:end+1]
		value, given = strings.CutPrefix(text[end+1:], "=")
		if !given && value != "" {
			return c, syntaxError("%q: the path is followed by neither = nor the end", c.text)
		}
	} else {
		path = "{." + strings.TrimPrefix(path, ".") + "}"
	}
	if given && value == "" {
		return c, syntaxError("%q: the value is empty", c.text)
	}
	c.Value = value
	c.path = jsonpath.New("for").AllowMissingKeys(true)
	if err := c.path.Parse(path); err != nil {
		return c, syntaxError("%q: %w", c.text, err)
	}
	return c, nil
}

// String is the condition as the user wrote it.
func (c Condition) String() string { return c.text }

// ofPath is the value of the path in data as encoding/json reads it.
func (c Condition) ofPath(data any) (string, error) {
	var text bytes.Buffer
	if err := c.path.Execute(&text, data); err != nil {
		return "", err
	}
	return text.String(), nil
}
