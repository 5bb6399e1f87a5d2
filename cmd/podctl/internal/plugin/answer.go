package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/fleet"
)

// answer is what a node has answered.
type answer struct {
	fleet.Outcome
	// list is the output read as cells or as JSON, text the output read as text. stderr is
	// what the command printed there.
	list   output.List
	text   string
	stderr string
	// hint is what to do about the failure.
	hint string
}

// timedOutError ends the command on a node.
type timedOutError struct{ after time.Duration }

func (e *timedOutError) Error() string { return fmt.Sprintf("no answer within %s", e.after) }

// failureOf is why a command has no answer, nil if it exited; code is its exit code.
func failureOf(err error) (code int, failure *fleet.Failure) {
	var exit *stream.ExitError
	var timedOut *timedOutError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.Code, nil
	case errors.As(err, &timedOut):
		return 0, &fleet.Failure{Reason: fleet.TimedOut, Message: err.Error()}
	case errors.Is(err, shell.ErrInterrupted), errors.Is(err, context.Canceled):
		return 0, &fleet.Failure{Reason: fleet.Interrupted, Message: "interrupted"}
	case errors.Is(err, errTooLarge), errors.Is(err, errAllTooBig):
		return 0, &fleet.Failure{Reason: fleet.TooLarge, Message: err.Error()}
	}
	return 0, &fleet.Failure{Reason: fleet.Unreachable, Message: output.Cut(output.OneLine(err.Error()), maxMessage)}
}

// maxMessage bounds a message that a node may have made, in columns.
const maxMessage = 512

// read reads the command's output: cells, JSON or text.
func (a *answer) read(stdout []byte, as reading) {
	var err error
	switch as {
	case asCells:
		a.list, err = output.ReadCells(stdout)
	case asJSON:
		a.list, err = values(stdout)
	case asText:
		a.text = string(stdout)
	case asFile:
		if a.text = string(stdout); a.text == "" {
			err = errors.New("no file")
		}
	}
	switch {
	case err == nil:
	case errors.Is(err, fleet.ErrTooMany):
		a.Failure = &fleet.Failure{Reason: fleet.TooLarge, Message: err.Error()}
	case a.ExitCode != 0:
		a.Failure = &fleet.Failure{Reason: fleet.CommandFailed, Message: a.reason(), ExitCode: a.ExitCode}
		a.stderr = ""
	default:
		a.Failure = &fleet.Failure{Reason: fleet.InvalidAnswer, Message: err.Error()}
	}
}

// reason is the beginning of what a command that failed printed to stderr.
func (a *answer) reason() string {
	first, _, _ := strings.Cut(strings.TrimSpace(a.stderr), "\n")
	if first == "" {
		return fmt.Sprintf("exit code %d", a.ExitCode)
	}
	return output.Cut(output.OneLine(first), maxMessage)
}

// values is a list of the JSON values that a command printed.
func values(stdout []byte) (output.List, error) {
	all, err := fleet.Values(stdout)
	switch {
	case errors.Is(err, fleet.ErrTooMany):
		return output.List{}, err
	case err != nil:
		return output.List{}, errors.New("not JSON")
	}
	var l output.List
	for _, value := range all {
		l.Items = append(l.Items, output.Item{Data: value})
	}
	return l, nil
}

// named sets the node in the data of the items, and drops what is not printed: the data or
// the cells.
func (a *answer) named(data, cells bool) {
	for i := range a.list.Items {
		item := &a.list.Items[i]
		if !cells {
			item.Cells, item.Wide, item.Notes, item.WideNotes = nil, nil, nil, nil
		}
		value, ok := item.Data.(json.RawMessage)
		item.Data = nil
		if !data || !ok {
			continue
		}
		if len(value) == 0 {
			value = json.RawMessage("null")
		}
		if with, err := fleet.WithNode(a.Node, value); err == nil {
			item.Data = with
		}
	}
}

// itemSize is what an item takes without its texts, in bytes.
const itemSize = 256

// stringSize is that of a string without its text.
const stringSize = 16

// size is about what is kept of an answer, in bytes.
func (a *answer) size() int {
	n := len(a.text)
	for _, item := range a.list.Items {
		n += itemSize + len(item.Name)
		for _, cells := range [][]string{item.Cells, item.Wide, item.Notes, item.WideNotes} {
			for _, cell := range cells {
				n += stringSize + len(cell)
			}
		}
		if data, ok := item.Data.(json.RawMessage); ok {
			n += len(data)
		}
	}
	return n
}

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
