package plugin

import (
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/fleet"
)

// unansweredData is the item of a node without an answer in the data formats.
type unansweredData struct {
	Node      string         `json:"node"`      // name of the node
	NodeError *fleet.Failure `json:"nodeError"` // why it has not answered
}

// merge makes one list of the answers, with the column NODE; their own lists are gone then. unanswered: a node without an
// answer is an item, too.
func merge(answers []answer, unanswered bool) output.List {
	var headers, wides [][]string
	rows := 0
	for _, a := range answers {
		headers, wides = append(headers, a.list.Header), append(wides, a.list.Wide)
		rows += len(a.list.Items)
	}
	header, wide := fleet.MergeHeaders(headers...), fleet.MergeHeaders(wides...)
	limit := cellLimit(rows, 1+len(header)+len(wide))
	l := output.List{Header: append([]string{"NODE"}, header...), Wide: wide}
	for n := range answers {
		a := &answers[n]
		if a.Failure != nil && unanswered {
			l.Items = append(l.Items, output.Item{Name: a.Node, Data: unansweredData{a.Node, a.Failure}})
		}
		for _, i := range a.list.Items {
			item := output.Item{Name: a.Node, Notes: indented(i.Notes), WideNotes: indented(i.WideNotes), Data: i.Data}
			if i.Name != "" {
				item.Name += " " + i.Name
			}
			item.Cells = append([]string{a.Node}, cut(fleet.ArrangeCells(header, a.list.Header, i.Cells), limit)...)
			item.Wide = cut(fleet.ArrangeCells(wide, a.list.Wide, i.Wide), limit)
			l.Items = append(l.Items, item)
		}
		a.list.Items = nil
	}
	return l
}

// maxTable is about the size of the largest table, in bytes, and minCell the width that
// each of its cells has at least: a line is as wide as the widest cells of all nodes.
const (
	maxTable = 32 << 20
	minCell  = 32
)

// cellLimit is the width to which the cells of a table are cut.
func cellLimit(rows, columns int) int { return max(minCell, maxTable/max(1, rows*columns)) }

func cut(cells []string, limit int) []string {
	short := make([]string, len(cells))
	for i, cell := range cells {
		short[i] = output.Cut(cell, limit)
	}
	return short
}

// maxNotes and maxNote bound the lines below a row, and the length of each.
const (
	maxNotes = 8
	maxNote  = 1024
)

// indented are the lines below a row, as no row begins: a node does not make up rows of
// another one.
func indented(notes []string) []string {
	var lines []string
	for _, note := range notes[:min(len(notes), maxNotes)] {
		lines = append(lines, "  "+output.Cut(output.OneLine(note), maxNote))
	}
	return lines
}
