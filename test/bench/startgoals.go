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
	rounds int
	// single is podctl's time for one pod, 0 if that was not measured.
	single time.Duration
	rows   []startRow
}

// startRow is one number of pods: the first and last start of the bare calls and of podctl.
type startRow struct {
	pods                             int
	bareFirst, bareLast, first, last time.Duration
}

func (g *startGoals) add(pods int, results map[string][]result) {
	if results["podctl"] == nil {
		return
	}
	up := func(r result) time.Duration { return r.up }
	started := func(r result) time.Duration { return r.started }
	r := startRow{
		pods: pods, bareFirst: median(results["bare"], up), bareLast: median(results["bare"], started),
		first: median(results["podctl"], up), last: median(results["podctl"], started),
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
	fmt.Fprintf(w, "from the manifest to the start of the first and the last of pods that run on, median of %d rounds\n", g.rounds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "pods\tbare: first\tlast\tpodctl: first\tlast\tlast, beside bare\tgoal\tfirst, beside one pod\tgoal")
	for _, r := range g.rows {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s", r.pods, milliseconds(r.bareFirst), milliseconds(r.bareLast),
			milliseconds(r.first), milliseconds(r.last), verdict(r.last, r.bareLast, startRatio))
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
