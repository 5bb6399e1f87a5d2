package output

import "io"

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
