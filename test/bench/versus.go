package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// way is one way to do something that is timed beside others.
type way struct {
	name string
	run  func() (listing, error)
	// peer is the name of the way that it is compared with, "" for none.
	peer string
	// ratio is how often the peer's time it may take, limit how long; 0 is no goal.
	ratio float64
	limit time.Duration
}

// command returns a run of a program, without its output.
func command(ctx context.Context, program string, args ...string) func() (listing, error) {
	return func() (listing, error) {
		l, err := timeProcess(exec.CommandContext(ctx, program, args...))
		if err != nil {
			err = fmt.Errorf("%s %s: %w", filepath.Base(program), strings.Join(args, " "), err)
		}
		return l, err
	}
}

// findCrictl returns the path of crictl, "" if there is none, and says so.
func findCrictl() string {
	crictl, err := exec.LookPath("crictl")
	if err != nil {
		fmt.Println("crictl is not in PATH: its times are missing, and the goals beside it are not checked")
	}
	return crictl
}

// versus times the ways in turn for some rounds, and prints the medians, each beside its
// peer and its goal.
func versus(title string, rounds int, ways []way) error {
	results := make([][]listing, len(ways))
	for range rounds {
		for i, w := range ways {
			l, err := w.run()
			if err != nil {
				return err
			}
			results[i] = append(results[i], l)
		}
	}
	fmt.Printf("%s, median of %d rounds\n", title, rounds)
	printVersus(os.Stdout, ways, results)
	return nil
}

func printVersus(w io.Writer, ways []way, results [][]listing) {
	took := map[string]time.Duration{}
	for i, way := range ways {
		took[way.name] = median(results[i], func(l listing) time.Duration { return l.took })
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\ttime\tCPU\tbeside its peer\tgoal")
	for i, way := range ways {
		cpu := "-"
		if used := median(results[i], func(l listing) time.Duration { return l.cpu }); used > 0 {
			cpu = tenths(used)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", way.name, tenths(took[way.name]), cpu, way.beside(took), way.goal(took))
	}
	_ = t.Flush() // the next line fails as well
	fmt.Fprintln(w)
}

// beside is the ratio to the peer's time, "-" without a peer that was timed.
func (w way) beside(took map[string]time.Duration) string {
	peer, timed := took[w.peer]
	if !timed || peer == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f × %s", float64(took[w.name])/float64(peer), w.peer)
}

// goal is what the way may take, and whether it does.
func (w way) goal(took map[string]time.Duration) string {
	var goals []string
	reached := true
	if w.limit > 0 {
		goals = append(goals, "≤ "+w.limit.String())
		reached = took[w.name] <= w.limit
	}
	if peer, timed := took[w.peer]; w.ratio > 0 && timed {
		goals = append(goals, fmt.Sprintf("≤ %.2f ×", w.ratio))
		reached = reached && float64(took[w.name]) <= w.ratio*float64(peer)
	}
	switch {
	case len(goals) == 0:
		return "-"
	case !reached:
		return strings.Join(goals, ", ") + ": missed"
	}
	return strings.Join(goals, ", ") + ": reached"
}

func tenths(d time.Duration) string { return fmt.Sprintf("%.1f ms", 1e3*d.Seconds()) }
