package twin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ByRow counts the differences that rows explain, by their beginning; "" has the others.
func (c *Comparison) ByRow() map[string]int {
	rows := map[string]int{}
	for _, d := range c.Differences {
		rows[d.Row]++
	}
	return rows
}

// Page returns the page with what was compared in place of what it has of the seed.
func (c *Comparison) Page(page, seed string) (string, error) {
	var runs, found []string
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	start := slices.Index(lines, "| seed | pods | calls | fields | execs of probes | states | events | runs that one had no time for | explained | not explained |")
	rows := slices.Index(lines, "| the row begins | differences, by seed |")
	if start < 0 || rows < start {
		return "", errors.New("the page has no tables by seed and by row")
	}
	byRow := c.ByRow()
	for _, l := range lines[start+2:] {
		if !strings.HasPrefix(l, "| ") {
			break
		}
		if !strings.HasPrefix(l, "| "+seed+" |") {
			runs = append(runs, l)
		}
	}
	counts := map[string][]string{}
	for _, l := range lines[rows+2:] {
		cells := strings.Split(strings.Trim(l, "| "), " | ")
		if len(cells) == 2 {
			others := strings.Split(cells[1], ", ")
			counts[cells[0]] = slices.DeleteFunc(others, func(c string) bool { return strings.HasPrefix(c, seed+": ") })
		}
	}
	for row, n := range byRow {
		if row != "" {
			counts[row] = append(counts[row], fmt.Sprintf("%s: %d", seed, n))
		}
	}
	runs = append(runs, fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d |", seed, c.Pods, c.Calls, c.Fields, c.Probes, c.States, c.Events, c.Cut, len(c.Differences)-byRow[""], byRow[""]))
	slices.Sort(runs)
	for _, row := range slices.Sorted(maps.Keys(counts)) {
		if len(counts[row]) > 0 {
			found = append(found, fmt.Sprintf("| %s | %s |", row, strings.Join(counts[row], ", ")))
		}
	}
	return strings.Join(slices.Concat(lines[:start+2], runs, []string{""}, lines[slices.IndexFunc(lines, func(l string) bool { return l == "## By row" }):rows+2], found), "\n") + "\n", nil
}
