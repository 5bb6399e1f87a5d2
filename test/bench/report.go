package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// report prints the medians of all contenders, the first of which is bare, and
// their shortest times, which other load on the machine affects less.
func report(w io.Writer, pods int, results map[string][]result) {
	fmt.Fprintf(w, "%d pod(s) running `true`, median and shortest of %d rounds\n", pods, len(results["bare"]))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tbare\tpodctl\tratio\tshortest: bare\tpodctl\tratio")
	row := func(name string, of func(result) time.Duration) {
		fmt.Fprint(t, name)
		for _, pick := range []func([]result, func(result) time.Duration) time.Duration{median[result, time.Duration], shortest} {
			base := pick(results["bare"], of)
			fmt.Fprintf(t, "\t%s", milliseconds(base))
			if other := results["podctl"]; other != nil {
				got := pick(other, of)
				ratio := "-"
				if base >= 2*time.Millisecond {
					ratio = fmt.Sprintf("%.2f", float64(got)/float64(base))
				}
				fmt.Fprintf(t, "\t%s\t%s", milliseconds(got), ratio)
			}
		}
		fmt.Fprintln(t)
	}
	row("manifest to first call (the program starts)", func(r result) time.Duration { return r.first })
	row("manifest to first container started", func(r result) time.Duration { return r.up })
	row("manifest to last container started", func(r result) time.Duration { return r.started })
	row("manifest to last sandbox stopped", func(r result) time.Duration { return r.stopped })
	row("manifest to nothing left", func(r result) time.Duration { return r.total })
	count := func(name string, of func(result) map[string]int) {
		fmt.Fprint(t, name)
		for _, contender := range []string{"bare", "podctl"} {
			if rs := results[contender]; rs != nil {
				calls := median(rs, func(r result) int { return sum(of(r)) })
				fmt.Fprintf(t, "\t%.1f", float64(calls)/float64(pods))
			}
		}
		fmt.Fprintln(t)
	}
	count("CRI calls per pod that change something", func(r result) map[string]int { return r.changes })
	count("CRI calls per pod that read", func(r result) map[string]int { return r.reads })
	t.Flush()
	if rs := results["podctl"]; rs != nil {
		last := rs[len(rs)-1]
		fmt.Fprintf(w, "podctl's last round: %s; reads: %s\n", breakdown(last.changes), breakdown(last.reads))
	}
	fmt.Fprintln(w)
}

func breakdown(counts map[string]int) string {
	var parts []string
	for _, method := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", method, counts[method]))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.0f ms", d.Seconds()*1000) }

func shortest(rounds []result, of func(result) time.Duration) time.Duration {
	least := of(rounds[0])
	for _, r := range rounds {
		least = min(least, of(r))
	}
	return least
}

// median is the middle value, the lower one of two.
func median[R any, T cmp.Ordered](rounds []R, of func(R) T) T {
	var values []T
	for _, r := range rounds {
		values = append(values, of(r))
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
