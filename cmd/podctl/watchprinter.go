package main

import (
	"io"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// watchPrinter shows a watch. An error is the output's.
type watchPrinter interface {
	// begin comes first, with the pods that are there, once they are known.
	begin(pods []*pod.Pod) error
	events([]seenEvent) error
	// note is a line about the runtime.
	note(at time.Time, text string) error
	summary(at time.Time, s watchSummary) error
}

func newWatchPrinter(e *env, o watchOptions) watchPrinter {
	if o.output == "json" {
		return &watchJSON{e.out}
	}
	header := []string{"TIME", "POD", "EVENT", "CONTAINER", "DETAIL", "SOURCE", "LAG"}
	if o.noTrunc {
		header = append(header, "ID")
	}
	p := &watchTable{env: e, full: o.noTrunc, color: e.tty && !o.noColor && !e.noColor, table: newStreamTable(header, 1, 3, 4)}
	p.table.expect(0, "15:04:05.000")
	p.table.expect(1, "default/a-pod-0123456789")
	p.table.expect(2, "ContainerStarted")
	p.table.expect(3, "(sandbox)")
	p.table.expect(4, "exit 137 OOMKilled")
	p.table.expect(5, "relist")
	p.table.expect(6, "999ms")
	return p
}

// watchTable is for people.
type watchTable struct {
	env   *env
	full  bool
	color bool
	table *streamTable
}

func (p *watchTable) begin(pods []*pod.Pod) error {
	for _, known := range pods {
		p.table.expect(1, pod.DisplayName(known.Namespace, known.Name))
		for _, c := range known.Containers {
			p.table.expect(3, c.Name)
		}
	}
	return p.lines(p.table.row(p.table.header, p.width()))
}

func (p *watchTable) events(events []seenEvent) error {
	lines := make([]string, len(events))
	for i, ev := range events {
		lines[i] = p.table.row(p.cells(ev), p.width())
		if p.color && ev.failed() {
			lines[i] = red + lines[i] + plain
		}
	}
	return p.lines(lines...)
}

func (p *watchTable) cells(ev seenEvent) []string {
	late := ""
	if lag, ok := ev.lag(); ok {
		late = shortTime(lag)
	}
	source := string(ev.Source)
	if ev.Initial {
		source = "initial"
	}
	cells := []string{clock(ev.at), oneLine(ev.podName()), string(ev.Type), oneLine(ev.containerName()), oneLine(ev.detail()), source, late}
	if p.full {
		cells = append(cells, ev.ID)
	}
	return cells
}

func (p *watchTable) note(at time.Time, text string) error {
	return p.lines(cut(clock(at)+"  "+oneLine(text), p.width()))
}

func (p *watchTable) summary(_ time.Time, s watchSummary) error { return p.lines(s.text()) }

// width is that of a line, 0 is no limit.
func (p *watchTable) width() int {
	if p.full {
		return 0
	}
	width, _ := p.env.size()
	return width
}

func (p *watchTable) lines(lines ...string) error {
	_, err := io.WriteString(p.env.out, strings.Join(lines, "\n")+"\n")
	return err
}
