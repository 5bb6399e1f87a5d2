// Command series prints as JSON what the queries of podctl's dashboard select of a live
// observer, which a Prometheus scrapes meanwhile. hack/dashboard draws it.
//
//	series -target HOST:PORT -prometheus PROGRAM -rules FILE -for DURATION
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/podctl/podctl/test/monitoring"
)

// step is the time between two values.
const step = time.Second

// scraped is what is printed: the series of each panel, by its title. The values are From
// and every step after it, in Unix milliseconds; nil where a series has none.
type scraped struct {
	From, Step int64
	Series     map[string][]series
}

type series struct {
	Legend string
	Values []*float64
}

type options struct {
	target, prometheus, rules string
	lasts                     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.target, "target", "", "`HOST:PORT` of the observer's metrics")
	flag.StringVar(&o.prometheus, "prometheus", "prometheus", "`PROGRAM` that scrapes it")
	flag.StringVar(&o.rules, "rules", "", "`FILE` of rules")
	flag.DurationVar(&o.lasts, "for", time.Minute, "scrape for this `DURATION`")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "series:", err)
		os.Exit(1)
	}
}

func (o options) run(ctx context.Context) error {
	rules, err := os.ReadFile(o.rules)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "podctl-series-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := monitoring.StartPrometheus(monitoring.StackOptions{Binary: o.prometheus, Dir: dir, Rules: string(rules), Target: o.target, Node: "node-1"})
	if err != nil {
		return err
	}
	defer p.Stop()
	from := time.Now().Truncate(step)
	time.Sleep(o.lasts)
	out := scraped{From: from.UnixMilli(), Step: step.Milliseconds(), Series: map[string][]series{}}
	for _, row := range monitoring.Rows() {
		for _, panel := range row.Panels {
			for _, q := range panel.Queries {
				selected, err := p.Range(ctx, q.Expr, from, step)
				if err != nil {
					return fmt.Errorf("%s: %w", panel.Title, err)
				}
				for _, s := range selected {
					out.Series[panel.Title] = append(out.Series[panel.Title], series{legendOf(q.Legend, s.Metric), values(s, from, int(o.lasts/step))})
				}
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// values are those of a series at each step.
func values(s monitoring.Series, from time.Time, steps int) []*float64 {
	all := make([]*float64, steps+1)
	for i := range s.Values {
		v := &s.Values[i]
		if at := int(v.At.Sub(from) / step); at < len(all) && !math.IsNaN(v.Value) && !math.IsInf(v.Value, 0) {
			all[at] = &v.Value
		}
	}
	return all
}

// legendOf replaces {{LABEL}} by its value.
func legendOf(legend string, labels map[string]string) string {
	for name, value := range labels {
		legend = strings.ReplaceAll(legend, "{{"+name+"}}", value)
	}
	return legend
}
