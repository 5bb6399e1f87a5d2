package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/podctl/podctl/test/live/bare"
)

const (
	// Relists are repeated for this long, and at least this often.
	relistFor = 2 * time.Second
	relistMin = 5
	// This many containers are listed in a row where nothing changes, so that the
	// time in which a goroutine wakes up is not counted in every relist.
	relistRow = 10_000
)

// spending is the cost of one relist of one contender.
type spending struct {
	took, lists time.Duration
	allocations int64 // of the whole process, the simulated runtime included
	calls       int
}

// benchRelist measures full relists of a simulated runtime: podctl's PLEG, the
// kubelet's loop, and the lists alone, in turn and on the same changes.
func benchRelist(ctx context.Context, _ options) error {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Printf("one full relist; every status call takes %v; median\n", statusTakes)
	for _, containers := range []int{100, 1000, 10000} {
		if err := benchRelistOf(ctx, dir, containers); err != nil {
			return fmt.Errorf("%d containers: %w", containers, err)
		}
	}
	return nil
}

func benchRelistOf(ctx context.Context, dir string, containers int) error {
	n, err := newSimNode(ctx, dir, containers)
	if err != nil {
		return err
	}
	defer n.close()
	client, err := bare.Dial(n.endpoint)
	if err != nil {
		return err
	}
	defer client.Close()
	ours, err := newPLEGRelister(ctx, n.endpoint)
	if err != nil {
		return err
	}
	defer ours.close()
	contenders := []relister{&onlyLists{rt: client.Runtime}, kubeletRelister{newKubeletLoop(client.Runtime)}, ours}
	each := func(n int, do func(r relister) error) ([]spending, error) {
		spent := make([]spending, len(contenders))
		for i, c := range contenders {
			if spent[i], err = spend(c, n, func() error { return do(c) }); err != nil {
				return nil, err
			}
		}
		return spent, nil
	}
	all := func(events int) ([]spending, error) {
		return each(1, func(r relister) error { return r.relist(ctx, events) })
	}
	if _, err := all(containers + containers/perPod); err != nil { // the first one reports all
		return err
	}
	n.delayStatuses()
	var unchanged, changed [][]spending
	for begin := time.Now(); time.Since(begin) < relistFor || len(unchanged) < relistMin; {
		row := max(1, relistRow/containers)
		spent, err := each(row, func(r relister) error { return r.inRow(ctx, row) })
		if err != nil {
			return err
		}
		unchanged = append(unchanged, spent)
	}
	reportRelist(fmt.Sprintf("%d containers, unchanged", containers), unchanged)
	for begin := time.Now(); time.Since(begin) < relistFor || len(changed) < relistMin; {
		if err := n.stopChanging(ctx); err != nil {
			return err
		}
		spent, err := all(len(n.changing))
		if err != nil {
			return err
		}
		changed = append(changed, spent)
		if err := n.renewChanging(ctx); err != nil {
			return err
		}
		if _, err := all(2 * len(n.changing)); err != nil {
			return err
		}
	}
	reportRelist(fmt.Sprintf("%d containers, 1 %% changed", containers), changed)
	return nil
}

// spend does n relists and returns the cost of one.
func spend(r relister, n int, do func() error) (spending, error) {
	var before, after runtime.MemStats
	runtime.GC()
	calls, lists := r.spent()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := do()
	s := spending{took: time.Since(begin) / time.Duration(n)}
	runtime.ReadMemStats(&after)
	s.allocations = int64(after.Mallocs-before.Mallocs) / int64(n)
	s.calls, s.lists = r.spent()
	s.calls = (s.calls - calls) / n
	s.lists = (s.lists - lists) / time.Duration(n)
	return s, err
}

// reportRelist prints the medians of rounds of the lists, the kubelet's loop
// and podctl's.
func reportRelist(title string, rounds [][]spending) {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tlists alone\tkubelet's loop\tpodctl\tratio\t\n", title)
	row := func(name string, of func(lists, s spending) int64) {
		var medians [3]int64
		for i := range medians {
			medians[i] = median(rounds, func(r []spending) int64 { return of(r[0], r[i]) })
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.1f\t\n", name, medians[0], medians[1], medians[2], float64(medians[1])/float64(medians[2]))
	}
	row("ns", func(_, s spending) int64 { return int64(s.took) })
	row("ns without its lists and their decoding", func(_, s spending) int64 { return int64(s.took - s.lists) })
	row("allocations, the runtime's included", func(_, s spending) int64 { return s.allocations })
	row("allocations beyond those of the lists", func(lists, s spending) int64 { return s.allocations - lists.allocations })
	row("CRI calls", func(_, s spending) int64 { return int64(s.calls) })
	t.Flush()
	fmt.Println()
}
