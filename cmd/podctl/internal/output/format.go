package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/text" // the standard library's without methods: see cmdline.App.Run
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/podctl/podctl/internal/sys/lazyregexp"
)

// Formats are those of every command that prints a list.
const Formats = "table, wide, json, yaml, name, jsonpath=TEMPLATE, go-template=TEMPLATE or custom-columns=SPEC"

// ReportFormats are those of commands that print a report, which has no name.
const ReportFormats = "table, " + DataFormats

// DataFormats are those of ReportFormats that print data.
const DataFormats = "json, yaml, jsonpath=TEMPLATE, go-template=TEMPLATE or custom-columns=SPEC"

// StreamFormats are those of commands that print objects as they come.
const StreamFormats = Formats + ", of one object at a time"

// itemsRoot matches a path into the List object that kubectl prints.
var itemsRoot = lazyregexp.New(`\{(range )?\$?\.items`)

// Format is a format in which a List is printed. The zero value prints tables.
type Format struct {
	// NoHeaders leaves the header out of tables.
	NoHeaders bool
	// Width is the terminal's, which no row of a table exceeds; 0 is no limit.
	Width int
	// sortBy orders the items; nil keeps their order.
	sortBy *jsonpath.JSONPath

	name     string
	template *template.Template
	path     *jsonpath.JSONPath
	columns  []column
}

// FormatError is a value of --output or --sort-by that cannot be used.
type FormatError struct{ Message, Advice string }

func (e *FormatError) Error() string { return e.Message }

// Hint returns what to type instead.
func (e *FormatError) Hint() string { return e.Advice }

// ParseFormat reads a value of --output. The error is a *FormatError.
func ParseFormat(value string) (Format, error) {
	name, text, templated := strings.Cut(value, "=")
	f := Format{name: name}
	var err error
	switch {
	case !templated && slices.Contains([]string{"", "table", "wide", "json", "yaml", "name", Cells}, name):
	case templated && name == "go-template":
		f.template, err = template.New("output").Parse(text)
	case templated && name == "jsonpath" && itemsRoot().MatchString(text):
		return f, &FormatError{fmt.Sprintf("--output jsonpath: the root is an array, without items: %s", text), "{[*].metadata.name}, or {range [*]}…{end}"}
	case templated && name == "jsonpath":
		f.path, err = parsePath(text)
	case templated && name == "custom-columns":
		f.columns, err = parseColumns(text)
	default:
		return f, &FormatError{fmt.Sprintf("unknown output format %q", value), "one of: " + Formats}
	}
	if err != nil {
		return f, &FormatError{Message: fmt.Sprintf("--output %s: %v", name, err)}
	}
	return f, nil
}

// SortBy orders what is printed by a JSONPath into an item, such as
// .metadata.name; "" keeps the order. The error is a *FormatError.
func (f *Format) SortBy(path string) error {
	if path == "" {
		return nil
	}
	var err error
	if f.sortBy, err = parsePath(relaxed(path)); err != nil {
		return &FormatError{Message: fmt.Sprintf("--sort-by %q: %v", path, err)}
	}
	return nil
}

// IsTable reports whether the format is a table, so that remarks may stand
// beside it.
func (f Format) IsTable() bool { return f.name == "" || f.name == "table" || f.name == "wide" }

// IsSorted reports whether nothing can be printed before all items are known.
func (f Format) IsSorted() bool { return f.sortBy != nil }

// IsWide reports whether the format shows more than a table and a name do.
func (f Format) IsWide() bool { return !slices.Contains([]string{"", "table", "name"}, f.name) }

// Name is the format's name, without a template; "" is the same as "table".
func (f Format) Name() string { return f.name }

// Print writes the list. The root of json, yaml and the templates is an array,
// [] if the list is empty.
func (f Format) Print(w io.Writer, l List) error {
	if err := f.sort(&l); err != nil {
		return err
	}
	switch f.name {
	case "json":
		return jsonList(w, l.data())
	case "yaml":
		return YAML(w, l.data())
	case "name":
		for _, i := range l.Items {
			if _, err := fmt.Fprintln(w, OneLine(i.Name)); err != nil {
				return err
			}
		}
		return nil
	case Cells:
		return l.cells(w)
	case "custom-columns":
		return f.customColumns(w, l)
	case "go-template", "jsonpath":
		return f.templated(NewWriter(w), l)
	}
	return f.table(w, l)
}

func (l List) data() []any {
	all := make([]any, len(l.Items))
	for n, i := range l.Items {
		all[n] = i.Data
	}
	return all
}

func (f Format) templated(w io.Writer, l List) error {
	data, err := Generic(l.data())
	if err != nil {
		return err
	}
	if f.path != nil {
		return f.path.Execute(w, data)
	}
	return f.template.Execute(w, data)
}

// Generic returns data as it is read back from JSON, with integers as int64.
func Generic(data any) (any, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var read any
	err = utiljson.Unmarshal(b, &read)
	return read, err
}

// PrintObject writes one object in the format: the root of json, yaml and the
// templates is the object itself. header is that of its table.
func (f Format) PrintObject(w io.Writer, header []string, i Item) error {
	switch f.name {
	case "json":
		return JSON(w, i.Data)
	case "yaml":
		return YAML(w, i.Data)
	case "go-template", "jsonpath":
		data, err := Generic(i.Data)
		if err != nil {
			return err
		}
		if f.path != nil {
			return f.path.Execute(NewWriter(w), data)
		}
		return f.template.Execute(NewWriter(w), data)
	}
	return f.Print(w, List{Header: header, Items: []Item{i}})
}
