package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type options struct {
	endpoint string
	podctl   string
	pods     []int
	rounds   int
	exits    int
	idle     int
	idleFor  time.Duration
	logSize  int64
	scale    []int
	// scaleLive is the largest number of them that a real runtime is given.
	scaleLive int
	// record is the file to which the weights of the start are written, "" for none.
	record string
}

// part is one of the measurements.
type part struct {
	name string
	run  func(context.Context, options) error
}

var parts = []part{{"start", benchStart}, {"pods", benchPods}, {"starts", benchStarts}, {"exits", benchExits}, {"relist", benchRelist}, {"idle", benchIdle}, {"look", benchLook}, {"exec", benchExec}, {"logs", benchLogs}, {"scale", benchScale}, {"dead", benchDead}, {"trace", benchTrace}}

// apart are the parts that are measured only where they are named: they take long, or need
// no root.
var apart = []string{"scale", "dead", "trace"}

func main() {
	var o options
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	usual := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(apart, name) })
	pods, scale, only, list := "1,20,60", "10,100,1000,2500,5000", strings.Join(usual, ","), false
	flag.StringVar(&o.endpoint, "r", "", "CRI `endpoint`")
	flag.StringVar(&o.podctl, "podctl", "bin/podctl", "the `program` to measure; empty for the bare calls alone")
	flag.StringVar(&only, "only", only, "what to measure, separated by commas")
	flag.StringVar(&pods, "pods", pods, "numbers of pods, separated by commas")
	flag.StringVar(&scale, "scale", scale, "numbers of an agent's pods, separated by commas")
	flag.IntVar(&o.scaleLive, "scale-live", 100, "the largest number of them on the runtime of -r")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, of which the median counts")
	flag.IntVar(&o.exits, "exits", 40, "number of containers whose exits are timed")
	flag.IntVar(&o.idle, "idle", 60, "number of idle pods")
	flag.DurationVar(&o.idleFor, "idle-for", 20*time.Second, "how long they are measured")
	flag.Int64Var(&o.logSize, "log-size", 1<<30, "bytes of the log that is printed")
	flag.StringVar(&o.record, "record", "", "the `file` to write what podctl's file and start are made of: bench/testdata/start.txt")
	flag.BoolVar(&list, "list", false, "make the two lists of the runtime once, and nothing else")
	flag.Parse()
	o.pods, o.scale = numbers("pods", pods), numbers("scale", scale)
	wanted := strings.Split(only, ",")
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			fmt.Fprintf(os.Stderr, "bench: -only %q: want some of %s\n", only, strings.Join(names, ","))
			os.Exit(2)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if list {
		err = listOnce(ctx, o.endpoint)
	} else {
		err = run(ctx, o, wanted)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// numbers are those of a flag; anything else ends the program.
func numbers(name, text string) (all []int) {
	for n := range strings.SplitSeq(text, ",") {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 {
			fmt.Fprintf(os.Stderr, "bench: -%s %q: want numbers of pods\n", name, text)
			os.Exit(2)
		}
		all = append(all, count)
	}
	return all
}

func run(ctx context.Context, o options, wanted []string) error {
	// Other podctl processes of the host neither ask the measured ones nor are asked.
	runDir, err := os.MkdirTemp("", "podctl-bench-run")
	if err != nil {
		return err
	}
	defer os.RemoveAll(runDir)
	if err := os.Setenv("PODCTL_RUN_DIR", runDir); err != nil {
		return err
	}
	fmt.Printf("%d CPUs\n\n", runtime.NumCPU())
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		load, err := os.ReadFile("/proc/loadavg")
		if err == nil {
			fmt.Printf("== %s (load before: %s)\n", p.name, strings.TrimSpace(string(load)))
		}
		if err := p.run(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
