package runview

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
	screen   Screen
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

func (p *livePrinter) Note(text string) { p.above(text) }

func (p *livePrinter) Event(ev event.Event) {
	p.activity.take(ev)
	if ev.UID == "" {
		p.above(output.Clock(ev.Time) + "  " + output.OneLine(ev.Text()))
	}
}

func (p *livePrinter) Log(l LogLine) {
	p.above(fmt.Sprintf("%s/%s/%s | %s", l.Namespace, l.Pod, l.Container, output.Printable(l.Text)))
}

func (p *livePrinter) Refresh(infos []node.Info) {
	_, height := p.screen.Size()
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

func (p *livePrinter) Finish(infos []node.Info) { p.redraw(p.render(infos, 0)) }

// above prints a line over the table.
func (p *livePrinter) above(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintln(p.screen.Out, text)
	p.draw(p.table)
}

// erase takes the table off the screen; the cursor is where it began.
func (p *livePrinter) erase() {
	if p.rows > 0 {
		// The terminal may have echoed a ^C, so first back to the left.
		fmt.Fprintf(output.Raw(p.screen.Out), "\r\x1b[%dA\x1b[J", p.rows)
	}
	p.rows = 0
}

func (p *livePrinter) draw(table string) {
	fmt.Fprint(output.Raw(p.screen.Out), table) // its cells are escaped, its colors are not
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
		rows[n] = podRow(i, p.activity[i.Pod.UID], p.screen.Now())
	}
	width, _ := p.screen.Size()
	t := output.NewTable(podHeader, 0, len(podHeader)-1)
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

// paint says with colour what the words say too: bad, or waiting.
func (p *livePrinter) paint(i node.Info, line string) string {
	color := ""
	switch {
	case i.Rejected != nil || i.Status.Phase == "Failed":
		color = output.Red
	case waitingText(i, p.screen.Now()) != "":
		color = output.Yellow
	}
	if !p.screen.Color || color == "" {
		return line
	}
	return color + line + output.Plain
}
