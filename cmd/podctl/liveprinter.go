package main

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/node"
)

// livePrinter keeps a table of the pods at the foot of a terminal; what else
// is printed scrolls above it. The last state of the table stays.
type livePrinter struct {
	env      *env
	color    bool
	activity activities

	mu sync.Mutex
	// rows is the height of the table on the screen.
	rows  int
	table string
}

// activities are what pods are busy with, by what their last event said.
type activities map[types.UID]string

func (a activities) take(ev event.Event) {
	switch ev.Reason {
	case event.Pulling:
		a[ev.UID] = "pulling image " + ev.Image.Name
	case event.Created, event.Started, event.Pulled, event.Failed, event.SandboxReady:
		delete(a, ev.UID)
	}
}

func (p *livePrinter) note(text string) { p.above(text) }

func (p *livePrinter) event(ev event.Event) {
	p.activity.take(ev)
	if ev.UID == "" {
		p.above(output.Clock(ev.Time) + "  " + output.OneLine(ev.Text()))
	}
}

func (p *livePrinter) log(l logLine) {
	p.above(fmt.Sprintf("%s/%s/%s | %s", l.namespace, l.pod, l.container, output.Printable(l.text)))
}

func (p *livePrinter) refresh(infos []node.Info) {
	_, height := p.env.size()
	p.redraw(p.render(infos, height-1)) // the cursor stands below
}

func (p *livePrinter) redraw(table string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if table == p.table {
		return
	}
	p.erase()
	p.draw(table)
}

func (p *livePrinter) finish(infos []node.Info) { p.redraw(p.render(infos, 0)) }

// above prints a line over the table.
func (p *livePrinter) above(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.env.out, text)
	p.draw(p.table)
}

// erase takes the table off the screen; the cursor is where it began.
func (p *livePrinter) erase() {
	if p.rows > 0 {
		// The terminal may have echoed a ^C, so first back to the left.
		fmt.Fprintf(p.env.out, "\r\x1b[%dA\x1b[J", p.rows)
	}
	p.rows = 0
}

func (p *livePrinter) draw(table string) {
	fmt.Fprint(p.env.out, table)
	p.table, p.rows = table, strings.Count(table, "\n")
}

// render makes the table, each line cut to the terminal's width so that it
// stays one line. Of pods that are more than there are lines it counts the
// last ones; no limit if lines is less than 3.
func (p *livePrinter) render(infos []node.Info, lines int) string {
	more := 0
	if lines >= 3 && len(infos)+1 > lines {
		more = len(infos) + 2 - lines
		infos = infos[:len(infos)-more]
	}
	rows := make([][]string, len(infos))
	for n, i := range infos {
		rows[n] = podRow(i, p.activity[i.Pod.UID], p.env.now())
	}
	width, _ := p.env.size()
	t := output.NewTable(podHeader, 0)
	drawn := t.Rows(rows, width)
	var table strings.Builder
	table.WriteString(t.Header(width) + "\n")
	for n, line := range drawn {
		table.WriteString(p.paint(infos[n], line) + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&table, "and %s more\n", output.Plural(more, "pod"))
	}
	return table.String()
}

const (
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// paint says with colour what the words say too: bad, or waiting.
func (p *livePrinter) paint(i node.Info, line string) string {
	color := ""
	switch {
	case i.Refused() != nil || i.Status.Phase == "Failed":
		color = red
	case waitingText(i, p.env.now()) != "":
		color = yellow
	}
	if !p.color || color == "" {
		return line
	}
	return color + line + plain
}
