package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

const (
	// startRatio is how often the time of the bare calls podctl may take until the last
	// container was started.
	startRatio = 1.1
	// firstRatio is how often the time of a single pod the first of many may take.
	firstRatio = 2
)

// startGoals are what the starts of some numbers of pods are held against.
type startGoals struct {
	// single is podctl's time for one pod, 0 if that was not measured.
	single time.Duration
	rows   []startRow
}

// startRow is one number of pods: podctl's first and last start, and the last one of the
// bare calls.
type startRow struct {
	pods              int
	first, last, bare time.Duration
}

func (g *startGoals) add(pods int, results map[string][]result) {
	if results["podctl"] == nil {
		return
	}
	up := func(r result) time.Duration { return r.up }
	started := func(r result) time.Duration { return r.started }
	r := startRow{
		pods: pods, first: median(results["podctl"], up), last: median(results["podctl"], started), bare: median(results["bare"], started),
	}
	if pods == 1 {
		g.single = r.last
	}
	g.rows = append(g.rows, r)
}

func (g *startGoals) report(w io.Writer) {
	if len(g.rows) == 0 {
		return
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "pods\tlast start, beside bare\tgoal\tfirst start, beside one pod\tgoal")
	for _, r := range g.rows {
		fmt.Fprintf(t, "%d\t%s", r.pods, verdict(r.last, r.bare, startRatio))
		if r.pods > 1 && g.single > 0 {
			fmt.Fprintf(t, "\t%s", verdict(r.first, g.single, firstRatio))
		} else {
			fmt.Fprint(t, "\t-\t-")
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // the next line fails as well
	fmt.Fprintln(w)
}

// verdict is the ratio, and what it was to be at most.
func verdict(took, peer time.Duration, goal float64) string {
	ratio, word := float64(took)/float64(peer), "reached"
	if ratio > goal {
		word = "missed"
	}
	return fmt.Sprintf("%.2f\t≤ %.1f: %s", ratio, goal, word)
}
