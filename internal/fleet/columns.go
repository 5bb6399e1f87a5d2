package fleet

import "slices"

// Missing stands in a column that a node's version does not have.
const Missing = "-"

// MergeHeaders returns the columns of all headers, each name once: a column that only
// some have stands after the one that it follows there.
func MergeHeaders(headers ...[]string) []string {
	var all []string
	for _, header := range headers {
		after := 0
		for _, name := range header {
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

// Arrange returns cells below header as a row below all, which has the columns of header.
func Arrange(all, header, cells []string) []string {
	if slices.Equal(all, header) && len(cells) == len(header) {
		return cells
	}
	row := make([]string, len(all))
	for i, name := range all {
		row[i] = Missing
		if at := slices.Index(header, name); at >= 0 && at < len(cells) {
			row[i] = cells[at]
		}
	}
	return row
}
