// Command draw draws the panels of podctl's dashboard from what a Prometheus scraped
// from a live observer. It is not Grafana: it shows the same queries as lines and
// numbers, for the picture in docs/metrics.md; hack/screenshots runs it.
//
//	draw -o FILE.svg -target HOST:PORT -prometheus PROGRAM -rules FILE -for DURATION
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/podctl/podctl/test/monitoring"
)

type options struct {
	out, target, prometheus, rules string
	lasts                          time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.out, "o", "", "write the picture to this `FILE`")
	flag.StringVar(&o.target, "target", "", "`HOST:PORT` of the observer's metrics")
	flag.StringVar(&o.prometheus, "prometheus", "prometheus", "`PROGRAM` that scrapes it")
	flag.StringVar(&o.rules, "rules", "", "`FILE` of rules")
	flag.DurationVar(&o.lasts, "for", time.Minute, "scrape for this `DURATION`")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "draw:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	rules, err := os.ReadFile(o.rules)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "podctl-draw-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := monitoring.StartPrometheus(monitoring.StackOptions{Binary: o.prometheus, Dir: dir, Rules: string(rules), Target: o.target, Node: "node-1"})
	if err != nil {
		return err
	}
	defer p.Stop()
	time.Sleep(o.lasts)
	var rows []row
	from := time.Now().Add(-o.lasts)
	for _, r := range monitoring.Rows() {
		drawn := row{title: r.Title}
		for _, panel := range r.Panels {
			series, err := p.Range(ctx, panel.Queries[0].Expr, from, time.Second)
			if err != nil {
				return fmt.Errorf("%s: %w", panel.Title, err)
			}
			drawn.panels = append(drawn.panels, chart{panel, series})
		}
		rows = append(rows, drawn)
	}
	return os.WriteFile(o.out, []byte(draw(rows, from, from.Add(o.lasts))), 0o644)
}
