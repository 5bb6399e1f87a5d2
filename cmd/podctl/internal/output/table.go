package output

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// Table lays out rows under a header the way kubectl does: no borders, aligned
// left, two spaces between columns. Rows may come one by one; what is printed
// stays, so a column only ever grows.
type Table struct {
	header []string
	// flexible are the columns that are cut first where a row is wider than the
	// terminal.
	flexible []int
	widths   []int
	// cut are the columns in which a cell was cut.
	cut []bool
}

// A cell is as wide in every row, and may come from a runtime: one pod's name of
// megabytes would be written as spaces in all other rows.
const (
	// Cells of this width are not cut, in columns of the terminal; in the last column
	// are texts.
	leastWidest, leastWidestLast = 512, 8 << 10
	// maxPadding bounds what all rows have together in a wider column.
	maxPadding = 4 << 20
	// streamed is how many rows a table is taken to have whose rows come one by one.
	streamed = 4 << 10
)

// NewTable returns a table whose flexible columns are cut first.
func NewTable(header []string, flexible ...int) *Table {
	t := &Table{header: header, flexible: flexible, widths: make([]int, len(header)), cut: make([]bool, len(header))}
	t.measure(header)
	return t
}

// PrintTable prints a table in which nothing is cut.
func PrintTable(w io.Writer, header []string, rows [][]string) error {
	t := NewTable(header)
	lines := t.Rows(rows, 0)
	_, err := io.WriteString(w, strings.Join(append([]string{t.Header(0)}, lines...), "\n")+"\n")
	return err
}

// Expect makes room for a value that is likely to come.
func (t *Table) Expect(column int, value string) {
	t.widths[column] = max(t.widths[column], twwidth.Width(OneLine(value)))
}

// Header is the header's line, no wider than width; 0 is no limit.
func (t *Table) Header(width int) string { return t.line(t.header, width) }

// Row is the line of one row.
func (t *Table) Row(cells []string, width int) string {
	cells = t.clean(cells, streamed)
	t.measure(cells)
	return t.line(cells, width)
}

// Rows are the lines of rows that are known together: measured first, so that
// all of them align, the header too if it is asked for afterwards.
func (t *Table) Rows(rows [][]string, width int) []string {
	clean := make([][]string, len(rows))
	for i, cells := range rows {
		clean[i] = t.clean(cells, len(rows))
		t.measure(clean[i])
	}
	lines := make([]string, len(rows))
	for i, cells := range clean {
		lines[i] = t.line(cells, width)
	}
	return lines
}

// clean returns one cell for each column of a table of so many rows, each of them one
// printable line of bounded width.
func (t *Table) clean(cells []string, rows int) []string {
	clean := make([]string, len(t.header))
	for i := range clean[:min(len(clean), len(cells))] {
		widest := leastWidest
		if i == len(clean)-1 {
			widest = leastWidestLast
		}
		clean[i] = cell(cells[i], max(widest, maxPadding/rows))
	}
	return clean
}

// cell returns a text as one line of at most so many columns, without looking at
// all of a longer one.
func cell(text string, columns int) string {
	if len(text) > utf8.UTFMax*columns {
		text = text[:utf8.UTFMax*columns] + "…"
	}
	return Cut(OneLine(text), columns)
}

func (t *Table) measure(cells []string) {
	for i, cell := range cells {
		t.widths[i] = max(t.widths[i], twwidth.Width(cell))
	}
}

func (t *Table) line(cells []string, width int) string {
	columns, widths := t.fit(width)
	var line strings.Builder
	for n, i := range columns {
		shown := ""
		switch {
		case i == len(cells)-1:
			shown = Cut(cells[i], widths[n]) // a text
		case t.header[i] == "POD":
			shown = cutPod(cells[i], widths[n])
		default:
			shown = CutMiddle(cells[i], widths[n])
		}
		t.cut[i] = t.cut[i] || shown != cells[i]
		line.WriteString(shown)
		if n < len(columns)-1 {
			line.WriteString(strings.Repeat(" ", max(0, widths[n]+2-twwidth.Width(shown))))
		}
	}
	return Cut(strings.TrimRight(line.String(), " "), width)
}

// hint returns a line with how to see what was cut, "" if nothing was.
func (t *Table) hint() string {
	var headers []string
	for i, header := range t.header {
		if t.cut[i] {
			headers = append(headers, header)
		}
	}
	if len(headers) == 0 {
		return ""
	}
	return "hint: --no-trunc prints " + strings.Join(headers, ", ") + " in full\n"
}

// droppableHeaders are the headers of the columns that are dropped on a narrow terminal, in this
// order. None is the answer of its command.
var droppableHeaders = []string{"WORKER", "IP", "ID", "AGE", "TOOK", "GRACE", "SINCE", "CONTAINERS", "RESTARTS", "LAST SEEN"}

// Widths to which columns are cut, one step after the other, until a line fits.
const (
	comfortableWidth = 20 // flexible columns; then droppable columns are dropped
	narrowWidth      = 8  // flexible columns, then all columns
	minWidth         = 3  // all columns
)

// fit returns the columns to show and their widths, so that a line fits the terminal width; 0 is
// no limit.
func (t *Table) fit(width int) (columns, widths []int) {
	for i := range t.header {
		columns = append(columns, i)
	}
	isFlexible := func(i int) bool { return slices.Contains(t.flexible, i) }
	isAny := func(int) bool { return true }
	if width > 0 {
		for _, header := range droppableHeaders {
			if fits(t.shrink(columns, width, comfortableWidth, isFlexible), width) {
				break
			}
			if i := slices.Index(t.header, header); i > 0 {
				columns = slices.DeleteFunc(columns, func(c int) bool { return c == i })
			}
		}
	}
	for _, try := range []struct {
		floor int
		of    func(int) bool
	}{{comfortableWidth, isFlexible}, {narrowWidth, isFlexible}, {narrowWidth, isAny}, {minWidth, isAny}} {
		if widths = t.shrink(columns, width, try.floor, try.of); fits(widths, width) {
			break
		}
	}
	return columns, widths
}

// lineWidth is the width of a line of columns.
func lineWidth(widths []int) int {
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	return total
}

func fits(widths []int, width int) bool { return width == 0 || lineWidth(widths) <= width }

// shrink returns the widths of columns. It shortens the widest column that satisfies of, until a
// line fits or none is wider than floor.
func (t *Table) shrink(columns []int, width, floor int, of func(column int) bool) []int {
	widths := make([]int, len(columns))
	for n, i := range columns {
		widths[n] = t.widths[i]
	}
	for total := lineWidth(widths); width > 0 && total > width; total-- {
		widest := -1
		for n, i := range columns {
			if of(i) && widths[n] > floor && (widest < 0 || widths[n] > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}

// CutMiddle shortens a name to a width in columns and keeps both ends, which distinguish it from
// others.
func CutMiddle(name string, width int) string {
	have := twwidth.Width(name)
	if have <= width || width < minWidth {
		return Cut(name, width)
	}
	tail := (width - 1) / 2
	head := twwidth.Truncate(name, width-1-tail)
	end := name
	for twwidth.Width(end) > tail {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return head + "…" + end
}

// cutPod shortens NAMESPACE/NAME: the namespace first, which most rows have in common.
func cutPod(pod string, width int) string {
	namespace, name, ok := strings.Cut(pod, "/")
	left := width - 1 - twwidth.Width(name)
	switch {
	case !ok || twwidth.Width(pod) <= width:
		return CutMiddle(pod, width)
	case left > 0:
		return Cut(namespace, left) + "/" + name
	}
	return CutMiddle(name, width)
}

// Cut shortens a line to a width in columns; 0 is no limit.
func Cut(line string, width int) string {
	if width <= 0 || twwidth.Width(line) <= width {
		return line
	}
	return twwidth.Truncate(line, width-1) + "…"
}
