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
type startGoals struct{ rows []startRow }

// startRow is what was measured of one number of pods, started by podctl run or by a
// podctl agent.
type startRow struct {
	pods         int
	by           string
	bare, podctl []result
}

func (g *startGoals) add(pods int, results map[string][]result) {
	for _, by := range []string{"run", "agent"} {
		if results[by] != nil {
			g.rows = append(g.rows, startRow{pods, by, results["bare"], results[by]})
		}
	}
}

// report prints the medians, and the shortest times, which other load on the machine
// affects less.
func (g *startGoals) report(w io.Writer) {
	if len(g.rows) == 0 {
		return
	}
	fmt.Fprintln(w, "from the start of podctl run, or the manifest's arrival at an agent, to the start of the first and the last of pods that run on")
	g.table(w, fmt.Sprintf("median of %d", len(g.rows[0].podctl)), median[result, time.Duration])
	g.table(w, "shortest", shortest)
	fmt.Fprintln(w)
}

func (g *startGoals) table(w io.Writer, title string, pick func([]result, func(result) time.Duration) time.Duration) {
	first := func(r result) time.Duration { return r.up }
	last := func(r result) time.Duration { return r.started }
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: pods\tby\tbare: first\tlast\tpodctl: first\tlast\tlast, beside bare\tgoal\tfirst, beside one pod\tgoal\n", title)
	single := map[string]time.Duration{}
	for _, r := range g.rows {
		mine, bare := pick(r.podctl, last), pick(r.bare, last)
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t%s", r.pods, r.by, milliseconds(pick(r.bare, first)), milliseconds(bare),
			milliseconds(pick(r.podctl, first)), milliseconds(mine), verdict(mine, bare, startRatio))
		if r.pods > 1 && single[r.by] > 0 {
			fmt.Fprintf(t, "\t%s\n", verdict(pick(r.podctl, first), single[r.by], firstRatio))
			continue
		}
		fmt.Fprint(t, "\t-\t-\n")
		if r.pods == 1 {
			single[r.by] = mine
		}
	}
	_ = t.Flush() // the next line fails as well
}

// verdict is the ratio, and what it was to be at most.
func verdict(took, peer time.Duration, goal float64) string {
	ratio, word := float64(took)/float64(peer), "reached"
	if ratio > goal {
		word = "missed"
	}
	return fmt.Sprintf("%.2f\t≤ %.1f: %s", ratio, goal, word)
}
