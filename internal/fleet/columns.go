package fleet

import "slices"

// missing stands in a column that a node's version does not have.
const missing = "-"

// MaxColumns bounds the columns of a node, and those of all nodes together.
const MaxColumns = 64

// MergeHeaders returns the columns of all headers, each name once: a column that only
// some have stands after the one that it follows there. Of too many, the columns that most
// headers have: a node does not push out what others print.
func MergeHeaders(headers ...[]string) []string {
	kept := mostCommonColumns(headers)
	var all []string
	for _, header := range headers {
		after := 0
		for _, name := range header {
			if !kept[name] {
				continue
			}
			at := slices.Index(all, name)
			if at < 0 {
				at = after
				all = slices.Insert(all, at, name)
			}
			after = at + 1
		}
	}
	return all
}

// mostCommonColumns returns the columns that most headers have, as many as there may be.
func mostCommonColumns(headers [][]string) map[string]bool {
	count := map[string]int{}
	var names []string
	for _, header := range headers {
		for _, name := range header {
			if count[name]++; count[name] == 1 {
				names = append(names, name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
	kept := map[string]bool{}
	for _, name := range names[:min(len(names), MaxColumns)] {
		kept[name] = true
	}
	return kept
}

// ArrangeCells returns cells below header as a row below all, which has the columns of header.
func ArrangeCells(all, header, cells []string) []string {
	if slices.Equal(all, header) && len(cells) == len(header) {
		return cells
	}
	row := make([]string, len(all))
	for i, name := range all {
		row[i] = missing
		if at := slices.Index(header, name); at >= 0 && at < len(cells) {
			row[i] = cells[at]
		}
	}
	return row
}

// Reason is why a node has no answer.
type Reason string

const (
	// NoInspector: no inspector pod runs on the node, or there is no such node.
	NoInspector Reason = "NoInspector"
	// NotReady: the node's inspector pod is terminating, or its container does not run.
	NotReady Reason = "NotReady"
	// TimedOut: the time for each node has passed.
	TimedOut Reason = "TimedOut"
	// Unreachable: the command could not be started, or the connection was lost.
	Unreachable Reason = "Unreachable"
	// CommandFailed: the command exited with an error instead of an answer.
	CommandFailed Reason = "CommandFailed"
	// InvalidAnswer: what the command printed is not what podctl prints.
	InvalidAnswer Reason = "InvalidAnswer"
	// TooLarge: the answer is larger than its limit.
	TooLarge Reason = "TooLarge"
	// Interrupted: the user did not wait for the node.
	Interrupted Reason = "Interrupted"
)

// Failure is why a node has no answer.
type Failure struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"`
	// ExitCode is the command's, 0 if it has none.
	ExitCode int `json:"exitCode,omitempty"`
}

// Outcome is how a node took part.
type Outcome struct {
	Node string
	// ExitCode is the command's.
	ExitCode int
	// Failure is nil for a node that answered.
	Failure *Failure
}

// Worst returns the exit code of the whole: the highest one of a node's command; a node whose
// command did not exit counts as noAnswer.
func Worst(outcomes []Outcome, noAnswer int) int {
	worst := 0
	for _, o := range outcomes {
		code := o.ExitCode
		if o.Failure != nil && code <= 0 {
			code = noAnswer
		}
		worst = max(worst, code)
	}
	return worst
}
