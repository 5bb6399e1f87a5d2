package report

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Part is one thing that a report contains.
type Part struct {
	// Name is that of its directory in the archive, Title what a person reads.
	Name, Title string
	// Collect returns its files. With an error, what is there nevertheless.
	Collect func(ctx context.Context) ([]File, error)
	// Timeout is that of the part, 0 for Limits.Part.
	Timeout time.Duration
	// First: it has most of the node, and is collected before the others; at most one is.
	First bool
}

// File is a file of a part.
type File struct {
	Name string
	Data []byte
	// Sealed: the file is masked already, and has a form that a part of it has not.
	Sealed bool
}

// Result is what was collected of a part.
type Result struct {
	Name, Title string
	Files       []File
	// Err is why the part is missing, or not complete; "" if it is complete.
	Err  string
	Took time.Duration
	// Cut are the names of files that were larger than they may be.
	Cut []string
}

// Limits bound a report.
type Limits struct {
	// InFlight is how many parts are collected at the same time.
	InFlight int
	// Part bounds the time for each part, Timeout that for all.
	Part, Timeout time.Duration
	// File bounds the size of each file, Total that of all, in bytes.
	File, Total int
}

// DefaultLimits bound a report so that a node whose runtime hangs still gives one before
// kubectl podctl gives up, and that the archive can be attached to an issue.
var DefaultLimits = Limits{InFlight: 8, Part: 12 * time.Second, Timeout: 20 * time.Second, File: 4 << 20, Total: 24 << 20}

// abandonAfter is how long a part that was canceled is waited for.
const abandonAfter = time.Second

// Collect collects the parts. The results are in the order of the parts.
func Collect(ctx context.Context, parts []Part, l Limits, now func() time.Time) []Result {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	results := make([]Result, len(parts))
	free, order := make(chan struct{}, l.InFlight), newOrder(parts)
	var collecting sync.WaitGroup
	for i, p := range parts {
		collecting.Go(func() {
			results[i] = Result{Name: p.Name, Title: p.Title}
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				results[i].Err = fmt.Sprintf("not collected within %s: other parts took too long", l.Timeout)
				return
			}
			defer func() { <-free }()
			begun := now()
			results[i].Files, results[i].Err = p.collect(ctx, order, cmp.Or(p.Timeout, l.Part))
			results[i].Took = now().Sub(begun)
		})
	}
	collecting.Wait()
	return results
}

// collect collects a part; one that does not end in time is abandoned.
func (p Part) collect(ctx context.Context, order *order, timeout time.Duration) ([]File, string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		files []File
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		defer order.begin(ctx, p)()
		files, err := p.Collect(ctx)
		answered <- answer{files, err}
	}()
	late := fmt.Sprintf("no answer within %s", timeout)
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		select {
		case a = <-answered:
		case <-time.After(abandonAfter):
			return nil, late
		}
	}
	switch {
	case a.err == nil:
		return a.files, ""
	case ctx.Err() != nil && errors.Is(a.err, ctx.Err()):
		return a.files, late
	}
	return a.files, a.err.Error()
}

// order has the first part before the others: where users have written much, all at
// once take more memory than a node should spare. A runtime that hangs does not delay them for
// long.
type order struct {
	collected chan struct{}
	heavy     chan struct{}
	// took is how long the first part took, set before collected is closed.
	took time.Duration
}

const (
	// firstTimeout is how long the other parts wait for the first; one that takes longer
	// than lightFirst is of much, and maxHeavy parts are collected at a time then.
	firstTimeout, lightFirst = 5 * time.Second, time.Second
	maxHeavy                 = 3
)

func newOrder(parts []Part) *order {
	o := &order{collected: make(chan struct{}), heavy: make(chan struct{}, maxHeavy)}
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.First }) {
		close(o.collected)
	}
	return o
}

// begin waits until a part may begin, or ctx ends, and returns what is to be called when it ends.
func (o *order) begin(ctx context.Context, p Part) (end func()) {
	if p.First {
		begun := time.Now()
		return func() { o.took = time.Since(begun); close(o.collected) }
	}
	select {
	case <-o.collected:
		if o.took < lightFirst || o.took > firstTimeout { // else it hangs
			return func() {}
		}
	case <-time.After(firstTimeout):
		return func() {}
	case <-ctx.Done():
		return func() {}
	}
	select {
	case o.heavy <- struct{}{}:
		return func() { <-o.heavy }
	case <-ctx.Done():
		return func() {}
	}
}

// bound cuts files that are larger than allowed, each and together.
func bound(results []Result, l Limits) {
	left := l.Total
	for i := range results {
		r := &results[i]
		for n := range r.Files {
			f := &r.Files[n]
			if f.Sealed {
				continue // a part of it is none, and it has a bound of its own
			}
			if room := min(l.File, left); len(f.Data) > room {
				f.Data = cut(f.Data, room)
				r.Cut = append(r.Cut, f.Name)
			}
			left = max(0, left-len(f.Data))
		}
	}
}

// cut returns the first lines of a text, and how much is missing.
func cut(text []byte, room int) []byte {
	kept := text[:room]
	if end := bytes.LastIndexByte(kept, '\n'); end >= 0 {
		kept = kept[:end+1]
	}
	return fmt.Appendf(bytes.Clone(kept), "… %d more bytes were left out\n", len(text)-len(kept))
}
