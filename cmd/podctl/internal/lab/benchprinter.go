package lab

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/bench"
)

// benchPrinter prints a report: a table for each number of pods as soon as it is measured,
// or one object at the end.
type benchPrinter struct {
	env      *shell.Env
	format   output.Format
	subjects []*bench.Subject
	data     *benchData
	err      error // the first one of the output
}

func (p *benchPrinter) begin() error {
	if !p.format.IsTable() {
		return nil
	}
	for _, s := range p.data.Subjects {
		polls := ""
		if s.Polls {
			polls = ", no events: exits are polled"
		}
		p.printf("%s at %s, image %s%s\n", s.Name, s.Endpoint, s.Image, polls)
	}
	return p.err
}

func (p *benchPrinter) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(p.env.Out, format, args...); p.err == nil {
		p.err = err
	}
}

// level prints what was measured with one number of pods.
func (p *benchPrinter) level(l bench.Level) {
	from := len(p.data.Results)
	p.data.add(l, p.subjects)
	if !p.format.IsTable() {
		return
	}
	if l.Pods != bench.Max {
		p.printf("\n%s\n", output.Plural(l.Pods, "pod"))
	} else {
		p.printf("\nas many pods as fit\n")
		for _, f := range p.data.Fits {
			p.printf("%s: %s; then: %s\n", f.Subject, output.Plural(f.Pods, "pod"), output.OneLine(f.Why))
		}
	}
	for _, s := range p.subjects {
		if s.Exec == nil {
			p.printf("%s: no exec: the image has no command that is known to end at once\n", s.Name)
		}
	}
	header, rows := p.table(p.data.Results[from:])
	table := output.NewTable(header)
	lines := table.Rows(rows, 0)
	p.printf("%s\n%s\n", table.Header(0), strings.Join(lines, "\n"))
}

// table returns the rows of results; several subjects have a column of their names, and
// of ratios.
func (p *benchPrinter) table(results []resultData) (header []string, rows [][]string) {
	header = []string{"MEASURE", "COUNT", "P50", "P95", "P99", "MAX", "PER SECOND", "HISTOGRAM"}
	several := len(p.subjects) > 1
	if several {
		header = []string{"MEASURE", "RUNTIME", "COUNT", "P50", "P95", "P99", "MAX", "PER SECOND", "RATIO", "HISTOGRAM"}
	}
	measure := ""
	for _, r := range results {
		row := []string{r.Measure}
		if r.Measure == measure {
			row[0] = ""
		}
		measure = r.Measure
		if several {
			row = append(row, r.Subject)
		}
		row = append(row, strconv.Itoa(r.Count))
		for _, s := range []float64{r.P50, r.P95, r.P99, r.Longest} {
			row = append(row, tookText(seconds(s)))
		}
		row = append(row, rateText(r.PerSecond))
		if several {
			row = append(row, fmt.Sprintf("%.2f", r.Ratio))
		}
		rows = append(rows, append(row, histogramText(r.Histogram)))
	}
	return header, rows
}

// rateText is a rate in about three digits.
func rateText(perSecond float64) string {
	if perSecond >= 100 {
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.3g", perSecond)
}

// bars are the heights of a histogram, after none.
var bars = []rune("·▁▂▃▄▅▆▇█")

// histogramText is a bar for each bucket, between the limits of the first and the last.
func histogramText(buckets []bucketData) string {
	most := 0
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	var text strings.Builder
	for _, b := range buckets {
		height := 0
		if b.Count > 0 {
			height = 1 + b.Count*(len(bars)-2)/most
		}
		text.WriteRune(bars[height])
	}
	return fmt.Sprintf("%s %s %s", tookText(seconds(buckets[0].Most/2)), text.String(), tookText(seconds(buckets[len(buckets)-1].Most)))
}

func (p *benchPrinter) end() error {
	if p.err != nil || p.format.IsTable() {
		return p.err
	}
	return p.format.PrintObject(p.env.Out, nil, output.Item{Data: *p.data})
}
