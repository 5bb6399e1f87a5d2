package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// listing is a list of things as a command prints it, in the format that the
// user wants.
type listing struct {
	// header is that of the table, more what -o wide adds to it.
	header, more []string
	items        []listItem
}

// listItem is one of the things.
type listItem struct {
	// name is what other commands take: NAMESPACE/NAME.
	name string
	// cells are a row of the table; more those that -o wide adds, and notes
	// the lines below the row.
	cells, more, notes []string
	// data is what -o json prints: a type of podctl's own, documented.
	data any
}

// outputForms are what every command understands that prints a listing.
const outputForms = "table, wide, json, yaml, name, go-template=TEMPLATE or jsonpath=TEMPLATE"

// listPrinter prints listings in one format. The zero value prints tables.
type listPrinter struct {
	form     string
	template *template.Template
	path     *jsonpath.JSONPath
}

// newListPrinter reads a value of --output.
func newListPrinter(output string) (listPrinter, error) {
	form, text, templated := strings.Cut(output, "=")
	p := listPrinter{form: form}
	var err error
	switch {
	case !templated && (form == "" || form == "table" || form == "wide" || form == "json" || form == "yaml" || form == "name"):
	case templated && form == "go-template":
		p.template, err = template.New("output").Parse(text)
	case templated && form == "jsonpath":
		p.path = jsonpath.New("output").AllowMissingKeys(true)
		err = p.path.Parse(text)
	default:
		return p, &usageError{message: fmt.Sprintf("--output %q is no format", output), hint: "one of: " + outputForms}
	}
	if err != nil {
		return p, usagef("--output %s: %v", form, err)
	}
	return p, nil
}

// people tells whether the format is for people: they are told that a list is
// empty.
func (p listPrinter) people() bool { return p.form == "" || p.form == "table" || p.form == "wide" }

// print writes the list: json and yaml an array, [] if it is empty; templates
// see {items: [...]}, as kubectl's do.
func (p listPrinter) print(w io.Writer, l listing) error {
	switch p.form {
	case "json":
		return p.json(w, l)
	case "yaml":
		b, err := yaml.Marshal(l.data())
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	case "name":
		for _, i := range l.items {
			if _, err := fmt.Fprintln(w, i.name); err != nil {
				return err
			}
		}
		return nil
	case "go-template", "jsonpath":
		return p.templated(w, l)
	}
	return p.table(w, l)
}

func (listPrinter) json(w io.Writer, l listing) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(l.data())
}

func (l listing) data() []any {
	all := make([]any, len(l.items))
	for n, i := range l.items {
		all[n] = i.data
	}
	return all
}

func (p listPrinter) templated(w io.Writer, l listing) error {
	b, err := json.Marshal(map[string]any{"items": l.data()})
	if err != nil {
		return err
	}
	var data any
	if err := json.Unmarshal(b, &data); err != nil {
		return err
	}
	if p.path != nil {
		return p.path.Execute(w, data)
	}
	return p.template.Execute(w, data)
}

func (p listPrinter) table(w io.Writer, l listing) error {
	if len(l.items) == 0 {
		return nil
	}
	header, rows := l.header, make([][]string, len(l.items))
	for n, i := range l.items {
		rows[n] = i.cells
	}
	if p.form == "wide" {
		header = append(slices.Clip(header), l.more...)
		for n, i := range l.items {
			rows[n] = append(slices.Clip(i.cells), i.more...)
		}
	}
	var text strings.Builder
	if err := printTable(&text, header, rows); err != nil {
		return err
	}
	for n, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		lines := []string{line}
		if n > 0 {
			lines = append(lines, l.items[n-1].notes...)
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}
