package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/record"
)

type options struct {
	endpoint string
	podctl   string
	pods     []int
	rounds   int
}

func main() {
	var o options
	pods := "1,20"
	flag.StringVar(&o.endpoint, "r", "", "CRI `endpoint`")
	flag.StringVar(&o.podctl, "podctl", "bin/podctl", "the `program` to measure; empty for the bare calls alone")
	flag.StringVar(&pods, "pods", pods, "numbers of pods, separated by commas")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, of which the median counts")
	flag.Parse()
	for n := range strings.SplitSeq(pods, ",") {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 {
			fmt.Fprintf(os.Stderr, "bench: -pods %q: want numbers of pods\n", pods)
			os.Exit(2)
		}
		o.pods = append(o.pods, count)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// contender is one way to run pods to their end and remove them.
type contender struct {
	name string
	run  func(ctx context.Context, pods int) error
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "podctl-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	proxy, err := record.Start(filepath.Join(dir, "cri.sock"), o.endpoint)
	if err != nil {
		return err
	}
	defer proxy.Close()
	client, err := bare.Dial(proxy.Endpoint)
	if err != nil {
		return err
	}
	defer client.Close()

	exits := client.Watch(ctx)
	contenders := []contender{{"bare", func(ctx context.Context, n int) error {
		return runBare(ctx, client, exits, dir, n)
	}}}
	if o.podctl != "" {
		contenders = append(contenders, contender{"podctl", func(ctx context.Context, n int) error {
			return runPodctl(ctx, o.podctl, proxy.Endpoint, dir, n)
		}})
	}
	for _, c := range contenders { // warm caches
		if _, err := measure(ctx, proxy, o.endpoint, c, 1); err != nil {
			return err
		}
	}
	for _, n := range o.pods {
		results := map[string][]result{}
		for range o.rounds {
			for _, c := range contenders {
				r, err := measure(ctx, proxy, o.endpoint, c, n)
				if err != nil {
					return err
				}
				results[c.name] = append(results[c.name], r)
			}
		}
		report(os.Stdout, n, results)
	}
	return nil
}
