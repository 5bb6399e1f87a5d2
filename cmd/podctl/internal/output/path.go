package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
)

func parsePath(text string) (*jsonpath.JSONPath, error) {
	p := jsonpath.New("output").AllowMissingKeys(true)
	return p, p.Parse(text)
}

// relaxed completes a path as kubectl does: .x.y and x.y are {.x.y}.
func relaxed(path string) string {
	if strings.HasPrefix(path, "{") {
		return path
	}
	return "{." + strings.TrimPrefix(path, ".") + "}"
}

// column is one of -o custom-columns.
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// parseColumns reads HEADER:PATH,HEADER:PATH.
func parseColumns(spec string) ([]column, error) {
	var columns []column
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("%q is not HEADER:PATH, as in NAME:.metadata.name", part)
		}
		p, err := parsePath(relaxed(path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", header, err)
		}
		columns = append(columns, column{header, p})
	}
	return columns, nil
}

func (f Format) customColumns(w io.Writer, l List) error {
	rows := make([][]string, len(l.Items))
	for n, item := range l.Items {
		var err error
		if rows[n], err = f.cellsOf(item.Data); err != nil {
			return err
		}
	}
	return f.rows(w, f.columnHeader(), rows, func(int) []string { return nil })
}

// columnHeader is the header of custom columns.
func (f Format) columnHeader() []string {
	header := make([]string, len(f.columns))
	for i, c := range f.columns {
		header[i] = c.header
	}
	return header
}

// cellsOf are the custom columns of an object.
func (f Format) cellsOf(data any) ([]string, error) {
	read, err := Generic(data)
	if err != nil {
		return nil, err
	}
	cells := make([]string, len(f.columns))
	for i, c := range f.columns {
		cells[i] = cmp.Or(textAt(c.path, read), "<none>")
	}
	return cells, nil
}

// valuesAt are the values that a path finds in data.
func valuesAt(p *jsonpath.JSONPath, data any) []any {
	found, err := p.FindResults(data)
	if err != nil {
		return nil
	}
	var values []any
	for _, part := range found {
		for _, v := range part {
			if v.IsValid() && v.CanInterface() {
				values = append(values, v.Interface())
			}
		}
	}
	return values
}

func textAt(p *jsonpath.JSONPath, data any) string {
	var texts []string
	for _, v := range valuesAt(p, data) {
		if v != nil {
			texts = append(texts, fmt.Sprint(v))
		}
	}
	return strings.Join(texts, ",")
}

// sort orders the items by the first value that the path finds: numbers before
// texts, and both before items that have none.
func (f Format) sort(l *List) error {
	if f.sortBy == nil {
		return nil
	}
	type keyed struct {
		Item
		rank   int
		number float64
		text   string
	}
	items, found := make([]keyed, len(l.Items)), len(l.Items) == 0
	for n, item := range l.Items {
		data, err := Generic(item.Data)
		if err != nil {
			return err
		}
		items[n] = keyed{Item: item, rank: 2}
		if values := valuesAt(f.sortBy, data); len(values) > 0 && values[0] != nil {
			found = true
			switch value := values[0].(type) {
			case int64:
				items[n].number, items[n].rank = float64(value), 0
			case float64:
				items[n].number, items[n].rank = value, 0
			default:
				items[n].text, items[n].rank = fmt.Sprint(value), 1
			}
		}
	}
	if !found {
		return &FormatError{Message: "--sort-by: no object has the field", Advice: "-o json shows the fields, for example .metadata.name"}
	}
	slices.SortStableFunc(items, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number), cmp.Compare(a.text, b.text))
	})
	l.Items = make([]Item, len(items))
	for n, k := range items {
		l.Items[n] = k.Item
	}
	return nil
}
