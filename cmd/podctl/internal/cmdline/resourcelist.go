package cmdline

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	names "k8s.io/apimachinery/pkg/util/validation"
)

// ResourceList is a flag that lists amounts of resources: cpu=4,memory=8Gi.
// The zero value is an empty list.
type ResourceList struct{ list v1.ResourceList }

// Set implements cli.Generic: it adds what text lists. A later amount of a
// resource wins.
func (r *ResourceList) Set(text string) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, amount, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !found || amount == "" {
			return fmt.Errorf("%q is not RESOURCE=AMOUNT, as in cpu=4,memory=8Gi", pair)
		}
		if wrong := names.IsQualifiedName(name); len(wrong) > 0 {
			return fmt.Errorf("%q is not a resource: %s", name, wrong[0])
		}
		q, err := resource.ParseQuantity(amount)
		if err != nil || q.Sign() < 0 {
			return fmt.Errorf("%q is not an amount of %s, as in 500m or 8Gi", amount, name)
		}
		if r.list == nil {
			r.list = v1.ResourceList{}
		}
		r.list[v1.ResourceName(name)] = q
	}
	return nil
}

// Resources returns what a ResourceList flag lists, nil if it was not given.
func Resources(c *cli.Context, name string) v1.ResourceList {
	if r, ok := c.Generic(name).(*ResourceList); ok {
		return r.list
	}
	return nil
}

// String implements cli.Generic. It is empty: the list has no default to show.
func (r *ResourceList) String() string { return "" }

const (
	// helpWidth is the number of columns that help fits in.
	helpWidth = 100
	// nameWidth is the number of columns up to which names are aligned: the text of a
	// longer one begins on the next line.
	nameWidth = 36
	margin    = "   "
)

// row is a name and what it means.
type row struct{ name, text string }

// columns aligns rows, and wraps their texts at helpWidth.
func columns(rows []row) string {
	width := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r.name); n <= nameWidth {
			width = max(width, n)
		}
	}
	indent := margin + strings.Repeat(" ", width+2)
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(margin + r.name)
		lines := wrapped(r.text, helpWidth-len(indent))
		if n := utf8.RuneCountInString(r.name); n <= width && len(lines) > 0 {
			b.WriteString(strings.Repeat(" ", width-n+2) + lines[0])
			lines = lines[1:]
		}
		b.WriteString("\n")
		for _, line := range lines {
			b.WriteString(indent + line + "\n")
		}
	}
	return b.String()
}

// wrapped breaks text between words into lines of at most width columns; a longer word
// has a line of its own.
func wrapped(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
