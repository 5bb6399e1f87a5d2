package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live/bare"
)

const (
	// traceRounds is how often each way is measured, in turn.
	traceRounds = 9
	// traceCalls is how many calls are timed one after the other.
	traceCalls = 2_000
	// traceRate is the number of calls a second of the second measurement, of traceCallers
	// callers for traceTime.
	traceRate    = 5_000
	traceCallers = 50
	traceTime    = time.Second
	// traceWorkers are the callers of the third, which do not wait between calls.
	traceWorkers = 16
)

// Goals of what `podctl trace` adds to a call.
const (
	traceP50 = 100 * time.Microsecond
	traceP99 = 500 * time.Microsecond
)

// benchTrace times calls with and without `podctl trace` before the runtime: the one of -r,
// else the simulated one in another process. The trace prints every call to a file.
func benchTrace(ctx context.Context, o options) (err error) {
	if o.podctl == "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	name := o.endpoint
	if name == "" {
		var end func() error
		if o.endpoint, end, err = serveSim(ctx, o.podctl, dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, end()) }()
		name = "simulated runtime"
	}
	traced, end, err := serveTrace(ctx, o, dir)
	if err != nil {
		return err
	}
	fmt.Printf("a call of Version, %s, medians of %d rounds\n", name, traceRounds)
	made, err := traceWays(ctx, o.endpoint, traced)
	seen, endErr := end()
	if err = errors.Join(err, endErr); err != nil {
		return err
	}
	fmt.Printf("%d calls were traced, %d seen\n\n", made, seen)
	return nil
}

// serveTrace starts `podctl trace`; end returns the number of calls that it saw.
func serveTrace(ctx context.Context, o options, dir string) (endpoint string, end func() (int, error), err error) {
	socket, file := filepath.Join(dir, "trace.sock"), filepath.Join(dir, "trace.json")
	cmd := exec.CommandContext(ctx, o.podctl, "-r", o.endpoint, "trace", "--listen", socket, "-o", "json", "--write", file)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	messages := bufio.NewReader(stderr)
	if line, err := messages.ReadString('\n'); err != nil || !strings.HasPrefix(line, "tracing ") {
		return "", nil, fmt.Errorf("podctl trace: %s, %w", line, errors.Join(err, cmd.Wait()))
	}
	return "unix://" + socket, func() (int, error) {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		warnings, readErr := messages.ReadString(0)
		if err := cmd.Wait(); err != nil || warnings != "" {
			return 0, fmt.Errorf("podctl trace: %s, %w", warnings, errors.Join(err, readErr))
		}
		return tracedCalls(file)
	}, nil
}

// tracedCalls is the number of calls of Version in a trace.
func tracedCalls(file string) (int, error) {
	text, err := os.ReadFile(file)
	return bytes.Count(text, []byte(`"method":"Version"`)), err
}

// load makes calls, and returns how long each took.
type load func(ctx context.Context, client *bare.Client) ([]time.Duration, error)

// traceWays prints the measurements, and returns how many calls were traced.
func traceWays(ctx context.Context, runtime, traced string) (made int, err error) {
	direct, err := bare.Dial(runtime)
	if err != nil {
		return 0, err
	}
	defer direct.Close()
	through, err := bare.Dial(traced)
	if err != nil {
		return 0, err
	}
	defer through.Close()
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\tbare: p50, p99\ttraced: p50, p99\tadded\tratio\tcalls a second\tgoal")
	for _, m := range []struct {
		name  string
		load  load
		limit bool
	}{
		{"one after the other", oneByOne, true},
		{fmt.Sprintf("%d a second, %d callers", traceRate, traceCallers), atRate, true},
		{fmt.Sprintf("%d callers, without pause", traceWorkers), flatOut, false},
	} {
		var rounds [2][]callTimes
		for range traceRounds {
			for i, client := range []*bare.Client{direct, through} {
				begin := time.Now()
				took, err := m.load(ctx, client)
				if err != nil {
					return 0, err
				}
				rounds[i] = append(rounds[i], timesOf(took, time.Since(begin)))
				if i == 1 {
					made += len(took)
				}
			}
		}
		fmt.Fprintln(t, m.name+"\t"+traceRow(rounds, m.limit))
	}
	return made, t.Flush()
}

// callTimes is what the calls of one round took.
type callTimes struct {
	p50, p99 time.Duration
	rate     float64 // calls a second
}

func timesOf(took []time.Duration, spent time.Duration) callTimes {
	slices.Sort(took)
	at := func(p float64) time.Duration { return took[int(math.Ceil(p*float64(len(took))))-1] }
	return callTimes{at(0.5), at(0.99), float64(len(took)) / spent.Seconds()}
}

// traceRow compares the medians of rounds without and with the trace.
func traceRow(rounds [2][]callTimes, limited bool) string {
	var of [2]callTimes
	for i, r := range rounds {
		of[i] = callTimes{
			median(r, func(t callTimes) time.Duration { return t.p50 }), median(r, func(t callTimes) time.Duration { return t.p99 }),
			median(r, func(t callTimes) float64 { return t.rate }),
		}
	}
	bare, traced := of[0], of[1]
	p50, p99 := traced.p50-bare.p50, traced.p99-bare.p99
	goal := "-"
	if limited {
		goal = fmt.Sprintf("≤ %v, %v: reached", traceP50, traceP99)
		if p50 > traceP50 || p99 > traceP99 {
			goal = fmt.Sprintf("≤ %v, %v: missed", traceP50, traceP99)
		}
	}
	return fmt.Sprintf("%s, %s\t%s, %s\t%s, %s\t%.2f, %.2f\t%.0f, %.0f\t%s",
		micros(bare.p50), micros(bare.p99), micros(traced.p50), micros(traced.p99), micros(p50), micros(p99),
		float64(traced.p50)/float64(bare.p50), float64(traced.p99)/float64(bare.p99), bare.rate, traced.rate, goal)
}

func micros(d time.Duration) string { return fmt.Sprintf("%d µs", d.Microseconds()) }

// oneByOne makes traceCalls.
func oneByOne(ctx context.Context, client *bare.Client) (took []time.Duration, err error) {
	for range traceCalls {
		d, err := timeVersion(ctx, client)
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

// atRate makes calls at traceRate, whether or not those before have ended.
func atRate(ctx context.Context, client *bare.Client) ([]time.Duration, error) {
	return byMany(traceCallers, func(caller int, add func(time.Duration)) error {
		time.Sleep(time.Duration(caller) * time.Second / traceRate) // so that they take turns
		ticks := time.NewTicker(time.Second * traceCallers / traceRate)
		defer ticks.Stop()
		for range int(traceTime.Seconds()) * traceRate / traceCallers {
			<-ticks.C
			d, err := timeVersion(ctx, client)
			if err != nil {
				return err
			}
			add(d)
		}
		return nil
	})
}

// flatOut makes as many calls as possible.
func flatOut(ctx context.Context, client *bare.Client) ([]time.Duration, error) {
	end := time.Now().Add(traceTime)
	return byMany(traceWorkers, func(_ int, add func(time.Duration)) error {
		for time.Now().Before(end) {
			d, err := timeVersion(ctx, client)
			if err != nil {
				return err
			}
			add(d)
		}
		return nil
	})
}

// byMany runs the same for many callers.
func byMany(callers int, call func(caller int, add func(time.Duration)) error) (took []time.Duration, err error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			var own []time.Duration
			failed := call(caller, func(d time.Duration) { own = append(own, d) })
			mu.Lock()
			defer mu.Unlock()
			took, err = append(took, own...), errors.Join(err, failed)
		})
	}
	all.Wait()
	return took, err
}

func timeVersion(ctx context.Context, client *bare.Client) (time.Duration, error) {
	begin := time.Now()
	_, err := client.Runtime.Version(ctx, &runtimeapi.VersionRequest{})
	return time.Since(begin), err
}
