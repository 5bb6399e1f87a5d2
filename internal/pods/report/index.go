package report

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	template "github.com/DataDog/datadog-agent/pkg/template/html" // the standard library's without methods
)

// IndexName is the page of a report that a person opens.
const IndexName = "index.html"

// RecordingName is the recording of the node in a report: see package recording.
const RecordingName = "node.tape"

// maxShown bounds how much of a file the page shows, in bytes.
const maxShown = 96 << 10

//go:embed index.html.tmpl
var indexSource string

//go:embed nodes.html.tmpl
var nodesSource string

//go:embed style.html.tmpl
var style string

// page returns the template of a page.
func page(source string) *template.Template {
	t := template.New("page").Funcs(template.FuncMap{
		"printable": printable, "bytes": size, "took": took, "time": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"shown": shown, "isText": func(f File) bool { return !f.Sealed && !strings.HasSuffix(f.Name, ".json") }, "partSize": Result.size, "dir": SafeName,
	})
	return template.Must(template.Must(t.Parse(style)).Parse(source))
}

// index writes the page.
func (b *Bundle) index(w io.Writer) error { return page(indexSource).Execute(w, b) }

// printable returns a text with characters that a browser or terminal could take for
// something else escaped.
func printable(text string) string {
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r):
			out.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// shown is the part of a file that the page shows.
func shown(f File) string {
	if len(f.Data) <= maxShown {
		return printable(string(f.Data))
	}
	return printable(string(cut(f.Data, maxShown)))
}

func (r Result) size() int {
	n := 0
	for _, f := range r.Files {
		n += len(f.Data)
	}
	return n
}

func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func took(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
